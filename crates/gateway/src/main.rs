//! The `toolcrib` binary.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    // The same program stands between Toolcrib and each server that it starts, and filters results.
    if let Some(code) = toolcrib_upstream::mcp::launcher::run_if_launcher(&args) {
        return code;
    }
    if let Some(code) = toolcrib::select::run_if_filter(&args) {
        return code;
    }
    toolcrib::cli::main(args)
}
