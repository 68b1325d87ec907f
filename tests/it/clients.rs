//! The official MCP clients in other languages: the scripts of `tests/clients/`.

use std::path::PathBuf;

use crate::support::scripts::{folder, node, run};

/// Returns the Python of the virtual environment with this version of the SDK.
fn python(sdk: &str) -> Result<PathBuf, &'static str> {
    let python = folder().join(".venv").join(sdk).join("bin/python");
    python.exists().then_some(python).ok_or("tests/clients/.venv is missing")
}

/// Defines one test for each script and its arguments.
macro_rules! clients {
    ($($test:ident: $interpreter:expr, $script:literal $($given:literal)*;)*) => {
        $(
            #[test]
            fn $test() {
                run($interpreter, $script, &[$($given),*]);
            }
        )*
    };
}

clients! {
    typescript_v1_over_stdio: node(), "sdk.mjs" "v1" "stdio";
    typescript_v1_over_http: node(), "sdk.mjs" "v1" "http";
    typescript_v2_with_sessions_over_stdio: node(), "sdk.mjs" "v2-legacy" "stdio";
    typescript_v2_with_sessions_over_http: node(), "sdk.mjs" "v2-legacy" "http";
    typescript_v2_negotiating_over_stdio: node(), "sdk.mjs" "v2-auto" "stdio";
    typescript_v2_negotiating_over_http: node(), "sdk.mjs" "v2-auto" "http";
    typescript_v2_without_sessions_over_stdio: node(), "sdk.mjs" "v2-modern" "stdio";
    typescript_v2_without_sessions_over_http: node(), "sdk.mjs" "v2-modern" "http";
    questions_with_v1_over_stdio: node(), "elicitation.mjs" "v1" "stdio";
    questions_with_v1_over_http: node(), "elicitation.mjs" "v1" "http";
    questions_with_v2_and_sessions_over_http: node(), "elicitation.mjs" "v2-legacy" "http";
    questions_without_sessions_over_stdio: node(), "elicitation.mjs" "v2-modern" "stdio";
    questions_without_sessions_over_http: node(), "elicitation.mjs" "v2-modern" "http";
    opinions_with_v1_over_stdio: node(), "sampling.mjs" "v1" "stdio";
    opinions_with_v1_over_http: node(), "sampling.mjs" "v1" "http";
    opinions_with_v2_and_sessions_over_http: node(), "sampling.mjs" "v2-legacy" "http";
    opinions_without_sessions_over_stdio: node(), "sampling.mjs" "v2-modern" "stdio";
    opinions_without_sessions_over_http: node(), "sampling.mjs" "v2-modern" "http";
    opinions_with_python_v1: python("mcp1"), "python/sampling.py" "legacy" "stdio";
    opinions_with_python_v2_and_sessions: python("mcp2"), "python/sampling.py" "legacy" "http";
    opinions_with_python_v2_without_sessions: python("mcp2"), "python/sampling.py" "2026-07-28" "http";
    python_v1_over_stdio: python("mcp1"), "python/lifecycle.py" "legacy" "stdio";
    python_v1_over_http: python("mcp1"), "python/lifecycle.py" "legacy" "http";
    python_v2_with_sessions_over_stdio: python("mcp2"), "python/lifecycle.py" "legacy" "stdio";
    python_v2_with_sessions_over_http: python("mcp2"), "python/lifecycle.py" "legacy" "http";
    python_v2_negotiating_over_stdio: python("mcp2"), "python/lifecycle.py" "auto" "stdio";
    python_v2_negotiating_over_http: python("mcp2"), "python/lifecycle.py" "auto" "http";
    python_v2_without_sessions_over_stdio: python("mcp2"), "python/lifecycle.py" "2026-07-28" "stdio";
    python_v2_without_sessions_over_http: python("mcp2"), "python/lifecycle.py" "2026-07-28" "http";
    inspector_over_stdio: node(), "inspector.mjs" "stdio";
    inspector_over_http: node(), "inspector.mjs" "http";
    conformance_suite: node(), "conformance.mjs";
}
