import { writeFile } from "../../../src/tools/files/write-file.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";

/** Writes a whole file like `write_file`, under the name that prompts of coding assistants use. */
export const writeToFile = defineTool({
  ...writeFile,
  name: "write_to_file",
  description:
    "Writes a text file whole: a new one with its missing folders, or in place of one that you have read whole in this " +
    "conversation. To change parts of a file use replace_in_file.",
  offered: { twinOf: "write_file" },
  example: {
    title: "A page",
    body: '{"path": "site/index.html", "content": "<!doctype html>\\n<title>Hello</title>\\n"}',
  },
});
