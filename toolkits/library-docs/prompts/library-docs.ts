import { defineTemplate } from "../../../src/prompts/template.ts";

/** Library documentation as a model reads it. */
export const libraryDocs = defineTemplate({
  name: "library_docs",
  title: { en: "Library documentation", zh: "第三方库文档" },
  description: "The documentation of the libraries that the project uses.",
  required: ["docs"],
  optional: ["libraries"],
  content: [
    "Libraries of this project: {libraries}",
    "Their documentation follows. Prefer it to what you remember of these libraries.",
    "",
    "{docs}",
  ].join("\n"),
});

/** The assistant's acknowledgement, which makes the pair a valid exchange. */
export const libraryDocsRead = defineTemplate({
  name: "library_docs_read",
  title: { en: "Library documentation: acknowledgement", zh: "第三方库文档：确认" },
  description: "The answer of the pair.",
  content: "I have read the documentation of the libraries and will follow it.",
});
