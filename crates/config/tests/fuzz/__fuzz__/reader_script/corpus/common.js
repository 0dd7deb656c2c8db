'use strict';
const a = 1;
module.exports = { a, ['b' + a]: [a, -a, undefined ?? 1] };
