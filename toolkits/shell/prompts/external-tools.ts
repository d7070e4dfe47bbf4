import { defineTemplate } from "../../../src/prompts/template.ts";

/** External tools as a model reads them. */
export const externalTools = defineTemplate({
  name: "external_tools",
  title: { en: "External tools", zh: "外部工具" },
  description: "Programs that the user has made available.",
  required: ["tools"],
  optional: ["how", "project", "path", "count", "failed", "folders"],
  content: [
    "Besides your own tools the user has made these programs available. {how}",
    "Project: {project}",
    "Folder of the project: {path}",
    "Number of programs: {count}",
    "Files that could not be used: {failed}",
    "Folders of programs, the first counts most: {folders}",
    "",
    "{tools}",
    "",
    "A new program belongs into the folder .auto-coder/.autocodertools of the project. It must answer to help, -h or --help,",
    "or say Description: and Usage: in comments at its head. A script must be readable, a program without an ending",
    "executable; compiled programs are preferred. Hand the making of one to an agent, with a time limit such as 1800 seconds.",
  ].join("\n"),
});

/** The assistant's acknowledgement, which makes the pair a valid exchange. */
export const externalToolsRead = defineTemplate({
  name: "external_tools_read",
  title: { en: "External tools: acknowledgement", zh: "外部工具：确认" },
  description: "The answer of the pair.",
  content: "I know the programs now and will use them where they fit.",
});
