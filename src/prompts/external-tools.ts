import { defineTemplate } from "./template.ts";

/** External tools as the documentation layer tells it (table 18.7). */
export const externalTools = defineTemplate({
  name: "external_tools",
  title: { en: "External tools", zh: "外部工具" },
  description: "Programs that the user has made available.",
  required: ["tools"],
  content: ["These programs can be run from the command line besides your own tools:", "", "{tools}"].join("\n"),
});

/** What the assistant is shown to have answered, so that the pair is a valid exchange (CTX-02). */
export const externalToolsRead = defineTemplate({
  name: "external_tools_read",
  title: { en: "External tools: acknowledgement", zh: "外部工具：确认" },
  description: "The answer of the pair.",
  content: "I know the programs now and will use them where they fit.",
});
