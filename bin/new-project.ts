import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { AppError } from "@millrace/engine/errors/errors";

/** The files of a new project, by their path. */
function filesOf(name: string): Record<string, string> {
  return {
    "langgraph.json": `{
  "dependencies": ["."],
  "graphs": { "counter": "./src/graph.ts:graph" },
  "env": ".env"
}
`,
    "package.json": `${JSON.stringify(
      {
        name,
        private: true,
        type: "module",
        scripts: { test: "node --test" },
        dependencies: { "@langchain/core": "^1.4.0", "@langchain/langgraph": "^1.7.3", zod: "^4.6.7" },
        engines: { node: ">=22.18" },
      },
      null,
      2,
    )}\n`,
    ".gitignore": "node_modules/\n.env\n.millrace/\n",
    ".env": "# Keys of models, and other settings; not committed.\n",
    "src/count-words.ts": `import { tool } from "@langchain/core/tools";
import { z } from "zod";

/** Counts the words of a text. */
export const countWords = tool(({ text }) => text.split(/\\s+/u).filter((word) => word !== "").length, {
  name: "count_words",
  description: "Counts the words of a text.",
  schema: z.object({ text: z.string() }),
});
`,
    "src/graph.ts": `import { AIMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { countWords } from "./count-words.ts";

const State = new StateSchema({ messages: MessagesValue });

/** Answers with the number of words. A model goes here: \`await model.bindTools([countWords]).invoke(messages)\`. */
async function answer({ messages }: typeof State.State) {
  const words = await countWords.invoke({ text: messages.at(-1)?.text ?? "" });
  return { messages: [new AIMessage(\`That is \${words} words.\`)] };
}

export const graph = new StateGraph(State).addNode("answer", answer).addEdge(START, "answer").addEdge("answer", END).compile();
`,
    "src/graph.test.ts": `import assert from "node:assert/strict";
import test from "node:test";
import { graph } from "./graph.ts";

test("the words of a message are counted", async () => {
  const { messages } = await graph.invoke({ messages: [{ role: "user", content: "three short words" }] });
  assert.equal(messages.at(-1)?.text, "That is 3 words.");
});
`,
    "README.md": `# ${name}

\`\`\`sh
npm install
npm test
millrace dev                          # serves src/graph.ts, and again after each change
millrace run --graph counter "three short words"
\`\`\`
`,
  };
}

/** Writes a new project into a folder that is empty or not there, and says what to do next. Throws `config` for any other. */
export function createProject(place: string): string {
  const folder = resolve(place);
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new AppError("config", `The folder ${folder} is not empty.`, {
      suggestion: "Name one that is, or a new one.",
    });
  }
  const name =
    basename(folder)
      .toLowerCase()
      .replaceAll(/[^a-z0-9._-]+/gu, "-")
      .replace(/^[._-]+/u, "") || "graphs";
  for (const [path, text] of Object.entries(filesOf(name))) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return `Made ${folder}. Next:\n\n  cd ${place}\n  npm install && npm test\n  millrace dev\n`;
}
