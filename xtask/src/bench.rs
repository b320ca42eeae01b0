//! stub
pub(crate) const HELP: &str = "";
pub(crate) fn run(_: &[String]) -> crate::Outcome {
    Ok(true)
}
