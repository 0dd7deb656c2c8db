#!/usr/bin/env node ({[
export default {}
