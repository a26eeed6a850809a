//! The server: its SDK has the types and the requests, and leaves folders and frontmatter to the program.

use std::path::Path;

use rmcp::model::{
    GetSkillRequestParams, GetSkillResult, ListSkillsResult, PaginatedRequestParams,
    ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ServerCapabilities,
    ServerConfig, Skill, SkillFrontmatter, SkillResource, SkillResources,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::json;

use crate::report::Fault;
use crate::{CHECKLIST, GREET, REVIEW};

const FOLDER: &str = "skill://code/review/references";

/// The files of all skills, with their URIs.
struct Peer(Vec<(&'static str, String)>);

impl Peer {
    fn new(folder: &str) -> std::io::Result<Self> {
        let read = |uri: &'static str| {
            let path = uri.trim_start_matches("skill://");
            Ok((uri, std::fs::read_to_string(Path::new(folder).join(path))?))
        };
        let files = [REVIEW, CHECKLIST, GREET].into_iter().map(read);
        Ok(Self(files.collect::<std::io::Result<_>>()?))
    }

    fn skills(&self) -> [Skill; 2] {
        let review = SkillFrontmatter::new("review", "Reviews a change of code")
            .with_field("metadata", json!({ "com.example/version": "1" }));
        let greet = SkillFrontmatter::new("greet", "Greets a new user");
        let entry = |uri: &str, frontmatter| {
            let folder = uri.trim_end_matches("SKILL.md");
            let files = self.0.iter().filter(|(uri, _)| uri.starts_with(folder));
            let files = files.map(|(uri, text)| SkillResource::from_bytes(*uri, text.as_bytes()));
            Skill::new(uri, frontmatter, SkillResources::Files(files.collect()))
        };
        [entry(REVIEW, review), entry(GREET, greet)]
    }
}

impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_resources()
            .enable_skills_with_directory_read();
        ServerConfig::new(capabilities.build())
    }

    async fn list_skills(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        Ok(ListSkillsResult::with_all_items(self.skills().to_vec()))
    }

    async fn get_skill(
        &self,
        params: GetSkillRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        let mut skills = self.skills().into_iter();
        let found = skills.find(|skill| skill.uri == params.uri);
        found
            .map(GetSkillResult::new)
            .ok_or_else(|| ErrorData::invalid_params("unknown skill", None))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let found = self.0.iter().find(|(uri, _)| *uri == params.uri);
        let (uri, text) =
            found.ok_or_else(|| ErrorData::invalid_params("unknown resource", None))?;
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, *uri)]).into())
    }

    async fn read_resource_directory(
        &self,
        params: ReadResourceDirectoryRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        if params.uri != FOLDER {
            return Err(ErrorData::invalid_params("unknown folder", None));
        }
        let children = vec![Resource::new(CHECKLIST, "checklist.md")];
        Ok(ReadResourceDirectoryResult::with_all_items(children))
    }
}

pub(crate) async fn serve(folder: &str) -> Result<(), Fault> {
    let peer = Peer::new(folder)?;
    peer.serve(rmcp::transport::stdio())
        .await?
        .waiting()
        .await?;
    Ok(())
}
