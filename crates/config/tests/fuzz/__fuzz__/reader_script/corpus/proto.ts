export default { __proto__: { a: 1 }, "__proto__": 2, ["__proto__"]: 3 };
