//! The roles of `agents/` as skills, which a model may load by itself: the MCP extension
//! `io.modelcontextprotocol/skills` (SEP-2640).

use rmcp::model::{
    CacheScope, ErrorData, GetSkillResult, ListSkillsResult, Skill, SkillFrontmatter,
    SkillResource, SkillResources,
};

use super::tool_names::ToolNames;
use super::{FIXED_TTL_MS, shown};
use crate::setup::prompts::{self, PROMPTS};

const SCHEME: &str = "skill://";
const FILE: &str = "/SKILL.md";

/// Returns the URI of a skill.
pub(super) fn uri(name: &str) -> String {
    format!("{SCHEME}{name}{FILE}")
}

/// Returns the name of the skill with a URI.
pub(super) fn named(uri: &str) -> Option<&'static str> {
    let name = uri.strip_prefix(SCHEME)?.strip_suffix(FILE)?;
    PROMPTS.iter().map(|(known, _)| *known).find(|known| *known == name)
}

/// Returns the file of a skill; empty if there is none of that name.
pub(super) fn text(name: &str, tools: &ToolNames) -> String {
    let prompt = PROMPTS.iter().find(|(known, _)| *known == name);
    prompt.map_or_else(String::new, |(name, prompt)| tools.in_text(&prompts::skill(name, prompt)))
}

/// Returns all skills: the front matter of each, and the size and the hash of its file.
fn all(tools: &ToolNames) -> impl Iterator<Item = Skill> {
    PROMPTS.iter().map(|(name, prompt)| {
        let uri = uri(name);
        let file = SkillResource::from_bytes(&uri, text(name, tools).as_bytes());
        let matter = SkillFrontmatter::new(*name, prompts::description(prompt));
        Skill::new(uri, matter, SkillResources::Files(vec![file]))
    })
}

/// Answers `skills/list`.
pub(super) fn list(tools: &ToolNames, is_modern: bool) -> ListSkillsResult {
    let skills = ListSkillsResult::with_all_items(all(tools).collect());
    if !is_modern {
        return skills;
    }
    skills.with_ttl_ms(FIXED_TTL_MS).with_cache_scope(CacheScope::Public)
}

/// Answers `skills/get`.
///
/// # Errors
///
/// No skill has the URI.
pub(super) fn get(
    uri: &str,
    tools: &ToolNames,
    is_modern: bool,
) -> Result<GetSkillResult, ErrorData> {
    let Some(skill) = all(tools).find(|skill| skill.uri == uri) else {
        let reason = format!("no skill {:?}: skills/list has all of them", shown(uri));
        return Err(ErrorData::invalid_params(reason, None));
    };
    let skill = GetSkillResult::new(skill);
    if !is_modern {
        return Ok(skill);
    }
    Ok(skill.with_ttl_ms(FIXED_TTL_MS).with_cache_scope(CacheScope::Public))
}
