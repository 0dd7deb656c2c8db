let a = 1;
const { b } = c;
enum E { A }
function f() {}
export default { a, b, E, f, g, h: E.A };
