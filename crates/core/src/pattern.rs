//! Globs, regular expressions, and the rules that switch tools on and off.
