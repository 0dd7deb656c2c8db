export default { a: foo(), b: new Foo(), c: () => 1, get d() { return 1 }, e: await x };
