import { defineToolkit } from "../../src/toolkits/toolkit.ts";
import { openLibraries } from "./libraries-document.ts";
import { libraryDocs as text, libraryDocsRead } from "./prompts/library-docs.ts";
import { libraryDocsRoutes } from "./routes/library-docs.ts";

/** Documentation of a project's libraries from a repository, which models read before they work. */
export const libraryDocs = defineToolkit({
  name: "library-docs",
  title: { en: "Library documentation", zh: "第三方库文档" },
  description: {
    en: "Gives models the documentation of the libraries that the project uses.",
    zh: "让模型阅读项目所用第三方库的文档。",
  },
  enabled: "always",
  templates: [text, libraryDocsRead],
  open: openLibraries,
  routes: [libraryDocsRoutes],
});
