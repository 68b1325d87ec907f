//! Knowledge graphs of memory servers, as JSON Lines: entities with observations, and relations between them.
//!
//! Two servers write such files. `@modelcontextprotocol/server-memory` (2026.8) writes a line for each entity and
//! relation, and knows entities by their names. `memory-bank-mcp` appends events behind a line that marks the file, and
//! knows entities by ids, which are hashes of name and type (`src/core/graph/` there).

use std::collections::HashMap;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

/// The type of the line that begins a file of memory-bank-mcp.
const MARKER: &str = "memory_bank_graph";
/// The type of an entity of which no type is known. memory-bank-mcp refuses entities without one.
const UNKNOWN: &str = "unknown";

/// An entity, with the relations that begin at it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Entity {
    /// The id that memory-bank-mcp gives to its name and type.
    pub id: String,
    pub name: String,
    pub entity_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    #[serde(skip_serializing_if = "Json::is_null")]
    pub attrs: Json,
    /// Whether only relations name it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_missing: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observations: Vec<Observation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Relation>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Observation {
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    #[serde(skip_serializing_if = "Json::is_null")]
    pub source: Json,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Relation {
    pub relation_type: String,
    /// The id and the name of the entity at its end.
    pub to: String,
    pub to_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
}

/// A line that is no part of a graph.
pub(super) struct BadLine {
    pub line: usize,
    pub reason: String,
    /// Whether it is rightly left out.
    pub is_skipped: bool,
}

/// A graph, with the lines of its entities.
#[derive(Default)]
pub(super) struct Graph {
    entities: IndexMap<String, (usize, Entity)>,
    pub bad: Vec<BadLine>,
}

impl Entity {
    fn new(name: &str, entity_type: &str) -> Self {
        Self {
            id: entity_id(name, entity_type),
            name: name.to_owned(),
            entity_type: entity_type.to_owned(),
            ..Self::default()
        }
    }

    /// Adds a relation, unless it is there.
    pub fn relate(&mut self, relation: Relation) {
        let is_it =
            |one: &Relation| one.to == relation.to && one.relation_type == relation.relation_type;
        if !self.relations.iter().any(is_it) {
            self.relations.push(relation);
        }
    }
}

/// Returns the id of an entity: that of memory-bank-mcp.
pub(super) fn entity_id(name: &str, entity_type: &str) -> String {
    let name = name.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    format!("ent_{}", short_hash(&format!("{name}:{}", entity_type.to_lowercase())))
}

fn short_hash(text: &str) -> String {
    let mut hash = URL_SAFE_NO_PAD.encode(Sha256::digest(text.as_bytes()));
    hash.truncate(12);
    hash
}

/// Returns true if a text is a graph.
pub(super) fn is_graph(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let line: Json = serde_json::from_str(first).unwrap_or_default();
    let has = |keys: &[&str]| keys.iter().all(|key| line[*key].is_string());
    match line["type"].as_str() {
        Some("entity") => has(&["name", "entityType"]),
        Some("relation") => has(&["from", "to", "relationType"]),
        Some(kind) => kind == MARKER && has(&["source"]),
        None => false,
    }
}

/// Reads a graph of either server.
pub(super) fn read(text: &str) -> Graph {
    let mut graph = Graph::default();
    let mut relations = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let read = match serde_json::from_str::<Json>(line) {
            Ok(line) => graph.read_line(number, &line, &mut relations),
            Err(error) => Err(format!("it is not JSON: {error}")),
        };
        if let Err(reason) = read {
            let is_skipped = reason.is_empty();
            let reason =
                if is_skipped { "it says nothing of the graph".to_owned() } else { reason };
            graph.bad.push(BadLine { line: number, reason, is_skipped });
        }
    }
    // The first server names the ends of relations, which may stand before their entities.
    let mut names: HashMap<String, String> = HashMap::new();
    for (id, (_, entity)) in &graph.entities {
        names.entry(entity.name.clone()).or_insert_with(|| id.clone());
    }
    for (line, [from, to, kind]) in relations {
        let [from, to_id] = [&from, &to].map(|name| {
            let id = names.entry(name.clone()).or_insert_with(|| entity_id(name, UNKNOWN));
            let missing = || (line, Entity { is_missing: true, ..Entity::new(name, UNKNOWN) });
            graph.entities.entry(id.clone()).or_insert_with(missing);
            id.clone()
        });
        let relation = Relation { relation_type: kind, to: to_id, to_name: to, created_at: None };
        if let Some((_, entity)) = graph.entities.get_mut(&from) {
            entity.relate(relation);
        }
    }
    graph.name_ends();
    graph
}

/// Returns the text of a key, or why it is missing.
fn text_of(object: &Json, key: &str) -> Result<String, String> {
    let text = object[key].as_str().map(str::to_owned);
    text.ok_or_else(|| format!("{key} is missing, or no text"))
}

fn optional(object: &Json, key: &str) -> Option<String> {
    object[key].as_str().map(str::to_owned)
}

impl Graph {
    /// Returns the entities, each with its line.
    pub fn entities(self) -> impl Iterator<Item = (usize, Entity)> {
        self.entities.into_values()
    }

    /// Reads a line. An empty reason is that of a line that says nothing.
    fn read_line(
        &mut self,
        number: usize,
        line: &Json,
        relations: &mut Vec<(usize, [String; 3])>,
    ) -> Result<(), String> {
        let kind = text_of(line, "type")?;
        match &*kind {
            "entity" => {
                let mut entity =
                    Entity::new(&text_of(line, "name")?, &text_of(line, "entityType")?);
                let observations =
                    line["observations"].as_array().ok_or("observations is no list")?;
                for text in observations {
                    let text = text.as_str().ok_or("an observation is no text")?.to_owned();
                    entity.observations.push(Observation { text, ..Observation::default() });
                }
                let is_same = |(_, one): &(usize, Entity)| {
                    one.name == entity.name && one.entity_type == entity.entity_type
                };
                let near = self.entities.get(&entity.id);
                let is_there = near.is_some_and(is_same);
                if near.is_some() {
                    // Its server tells capitals and spaces apart.
                    let exact = format!("{}\0{}", entity.name, entity.entity_type);
                    entity.id = format!("ent_{}", short_hash(&exact));
                }
                if is_there || self.entities.contains_key(&entity.id) {
                    return Err("another line has this entity: join their observations".to_owned());
                }
                self.entities.insert(entity.id.clone(), (number, entity));
            }
            "relation" => {
                relations.push((
                    number,
                    [text_of(line, "from")?, text_of(line, "to")?, text_of(line, "relationType")?],
                ));
            }
            MARKER if line["version"] == "1" => {}
            MARKER => {
                return Err("only version 1 of these files is known: export it again".to_owned());
            }
            "entity_upsert" => {
                let given = &line["entity"];
                let id = text_of(given, "id")?;
                let before = self.entities.get(&id).cloned();
                let (number, before) = before.unwrap_or((number, Entity::default()));
                let entity = Entity {
                    name: text_of(given, "name")?,
                    entity_type: text_of(given, "entityType")?,
                    created_at: optional(given, "createdAt"),
                    updated_at: optional(given, "updatedAt"),
                    attrs: given["attrs"].clone(),
                    id: id.clone(),
                    ..before
                };
                self.entities.insert(id, (number, entity));
            }
            "observation_add" => {
                let given = &line["observation"];
                let observation = Observation {
                    text: text_of(given, "text")?,
                    id: optional(given, "id"),
                    timestamp: optional(given, "timestamp"),
                    source: given["source"].clone(),
                };
                let entity = self.known(&text_of(given, "entityId")?)?;
                entity.observations.retain(|one| one.id.is_none() || one.id != observation.id);
                entity.observations.push(observation);
            }
            "relation_add" => {
                let given = &line["relation"];
                let relation_type = text_of(given, "relationType")?;
                let to = text_of(given, "toId")?;
                self.known(&to)?;
                let from = self.known(&text_of(given, "fromId")?)?;
                let created_at = optional(given, "createdAt");
                from.relate(Relation { relation_type, to, to_name: String::new(), created_at });
            }
            "relation_remove" => {
                let to = text_of(line, "toId")?;
                let kind = text_of(line, "relationType")?;
                if let Some((_, entity)) = self.entities.get_mut(&text_of(line, "fromId")?) {
                    let is_it = |one: &Relation| {
                        one.to == to && one.relation_type.eq_ignore_ascii_case(&kind)
                    };
                    entity.relations.retain(|one| !is_it(one));
                }
            }
            "observation_delete" => {
                let id = text_of(line, "observationId")?;
                if let Some((_, entity)) = self.entities.get_mut(&text_of(line, "entityId")?) {
                    entity.observations.retain(|one| one.id.as_ref() != Some(&id));
                }
            }
            "entity_delete" => {
                let id = text_of(line, "entityId")?;
                self.entities.shift_remove(&id);
                for (_, entity) in self.entities.values_mut() {
                    entity.relations.retain(|relation| relation.to != id);
                }
            }
            "snapshot_written" => return Err(String::new()),
            other => return Err(format!("{other:?} is neither an entity nor a relation")),
        }
        Ok(())
    }

    fn known(&mut self, id: &str) -> Result<&mut Entity, String> {
        let entity = self.entities.get_mut(id).map(|(_, entity)| entity);
        entity.ok_or_else(|| format!("no line before it has the entity {id}"))
    }

    /// Gives the relations the names of the entities at their ends.
    fn name_ends(&mut self) {
        let names: HashMap<String, String> = self
            .entities
            .iter()
            .map(|(id, (_, entity))| (id.clone(), entity.name.clone()))
            .collect();
        for relation in self.entities.values_mut().flat_map(|(_, entity)| &mut entity.relations) {
            if let Some(name) = names.get(&relation.to) {
                name.clone_into(&mut relation.to_name);
            }
        }
    }
}

/// Writes a graph for one of the servers; `is_log` for memory-bank-mcp. Relations to entities that are not there are
/// left out.
pub(super) fn write(
    entities: &[Entity],
    is_log: bool,
    out: &mut impl io::Write,
    written: &dyn Fn(),
) -> io::Result<()> {
    let by_id: HashMap<&str, &Entity> =
        entities.iter().map(|entity| (&*entity.id, entity)).collect();
    let mut line = |line: Json| writeln!(out, "{line}");
    if is_log {
        line(json!({ "type": MARKER, "source": "memory-bank-mcp", "version": "1" }))?;
    }
    for entity in entities {
        written();
        let Entity { id, name, entity_type, observations, .. } = entity;
        if is_log {
            let entity_type = if entity_type.is_empty() { UNKNOWN } else { entity_type };
            let ts = &entity.updated_at;
            let mut given = json!({ "id": id, "name": name, "entityType": entity_type });
            if !entity.attrs.is_null() {
                given["attrs"] = entity.attrs.clone();
            }
            given["createdAt"] = json!(entity.created_at);
            given["updatedAt"] = json!(ts);
            line(json!({ "type": "entity_upsert", "entity": given, "ts": ts }))?;
            for Observation { text, id: own, timestamp, source } in observations {
                let ts = timestamp.as_ref().or(ts.as_ref());
                let hash = || {
                    format!(
                        "obs_{}",
                        short_hash(&format!("{id}:{text}:{}", ts.map_or("", |ts| ts)))
                    )
                };
                let own = own.clone().unwrap_or_else(hash);
                let mut given = json!({ "id": own, "entityId": id, "text": text });
                if !source.is_null() {
                    given["source"] = source.clone();
                }
                given["timestamp"] = json!(ts);
                line(json!({ "type": "observation_add", "observation": given, "ts": ts }))?;
            }
        } else if !entity.is_missing {
            let texts: Vec<_> = observations.iter().map(|observation| &observation.text).collect();
            line(
                json!({ "type": "entity", "name": name, "entityType": entity_type, "observations": texts }),
            )?;
        }
    }
    for entity in entities {
        for relation in &entity.relations {
            let Some(other) = by_id.get(&*relation.to) else { continue };
            let kind = &relation.relation_type;
            if is_log {
                let [from, to] = [&entity.id, &other.id];
                let id =
                    format!("rel_{}", short_hash(&format!("{from}:{}:{to}", kind.to_lowercase())));
                let ts = relation.created_at.as_ref().or(entity.updated_at.as_ref());
                let given = json!({ "id": id, "fromId": from, "toId": to, "relationType": kind, "createdAt": ts });
                line(json!({ "type": "relation_add", "relation": given, "ts": ts }))?;
            } else {
                line(
                    json!({ "type": "relation", "from": entity.name, "to": other.name, "relationType": kind }),
                )?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_server() {
        assert_eq!(entity_id("Alice  Smith", "Person"), "ent_u9a4UKKwUSQp");
        assert_eq!(entity_id(" issue tracker", "project"), "ent_HSLK-zL2gEq_");
    }
}
