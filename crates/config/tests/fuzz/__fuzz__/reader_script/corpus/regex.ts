export default { a: /`/, b: "`" };
