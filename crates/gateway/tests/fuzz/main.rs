//! Fuzz targets. Plain `cargo test` replays `__fuzz__/NAME/corpus` and tries random input for a second
//! each; `BOLERO_RANDOM_TEST_TIME_MS` and `BOLERO_RANDOM_ITERATIONS` make it longer.

mod calls;
mod frames;
mod letters;
mod shop;
