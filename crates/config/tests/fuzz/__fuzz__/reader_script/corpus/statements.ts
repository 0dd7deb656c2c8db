if (a) {} else if (b) {}
for (;;) {}
a.b = 1;
export default {};
