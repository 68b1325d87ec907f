//! The names of the tools as clients know them.

use super::options::ToolPrefix;

/// The names of the tools of a server, with its prefix.
#[derive(Clone, Debug, Default)]
pub struct ToolNames {
    prefix: ToolPrefix,
    /// The names without the prefix.
    tools: &'static [&'static str],
}

impl ToolNames {
    pub fn new(prefix: ToolPrefix, tools: &'static [&'static str]) -> Self {
        Self { prefix, tools }
    }

    /// Returns the full name of a tool.
    pub fn full(&self, tool: &str) -> String {
        format!("{}{tool}", self.prefix.as_str())
    }

    /// Returns a text of ours with the full name of each tool that it mentions.
    pub fn in_text(&self, text: &str) -> String {
        let prefix = self.prefix.as_str();
        if prefix.is_empty() {
            return text.to_owned();
        }
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(is_name) {
            let end =
                rest[start..].find(|c| !is_name(c)).map_or(rest.len(), |length| start + length);
            result += &rest[..start];
            if self.tools.contains(&&rest[start..end]) {
                result += prefix;
            }
            result += &rest[start..end];
            rest = &rest[end..];
        }
        result + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_text_get_the_prefix() {
        let names =
            ToolNames::new("team_".parse().unwrap(), &["list_issues", "close_issue", "get_config"]);
        let text =
            "call list_issues, or `close_issue`; not my_list_issues or list_issues2: get_config";
        let expected = "call team_list_issues, or `team_close_issue`; not my_list_issues or list_issues2: team_get_config";
        assert_eq!(names.in_text(text), expected);
        assert_eq!(ToolNames::default().in_text(text), text);
    }
}
