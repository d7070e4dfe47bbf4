import { codeTools } from "./tools/index.ts";
import { defineToolkit } from "../../src/toolkits/toolkit.ts";
import { isWanted } from "./is-wanted.ts";

/** Work on source code, in addition to the file tools. */
export const code = defineToolkit({
  name: "code",
  title: { en: "Code", zh: "代码" },
  description: {
    en: "Writes source files, changes parts of them by SEARCH/REPLACE blocks, and lists what they define.",
    zh: "编写源文件，用 SEARCH/REPLACE 块修改局部内容，并列出其中的定义。",
  },
  tools: Object.values(codeTools),
  isWanted,
  identity: { profile: "agentic" },
  enabled: "default",
});
