//! Serves an API made of its description, which refuses what does not fit: `mock-api FILE`.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use toolcrib_testkit::mock::Mock;

#[tokio::main]
async fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).map(PathBuf::from);
    let mock = Mock::open(&path.context("name the description: mock-api FILE")?)?;
    let operations = mock.operations();
    let address = mock.serve().await?;
    let mut out = std::io::stdout();
    writeln!(out, "{operations} operations, listening address={address}")?;
    out.flush()?;
    std::future::pending().await
}
