export default { token: `abc
${x