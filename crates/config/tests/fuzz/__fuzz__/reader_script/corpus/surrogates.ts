export default { a: "\ud800", b: `\udc00`, c: "\u{1f600}" };
