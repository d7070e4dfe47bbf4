import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";

const Installed = z.object({ packages: z.record(z.string(), z.object({ resolved: z.string().optional() })) });

/**
 * How a project refers to this program: by version if it came from a registry, else by its file or folder. npm records
 * the origin of each installed package.
 */
export function specOf(packageFolder: string, version: string): string {
  const modules = dirname(packageFolder);
  if (basename(modules) !== "node_modules") return `file:${packageFolder}`;
  const notes = join(modules, ".package-lock.json");
  if (!existsSync(notes)) return `^${version}`;
  const { packages } = Installed.parse(JSON.parse(readFileSync(notes, "utf8")));
  const { resolved = "" } = packages[`node_modules/${basename(packageFolder)}`] ?? {};
  return resolved.startsWith("file:") ? `file:${resolve(dirname(modules), resolved.slice(5))}` : `^${version}`;
}

/** The test kit's import name. */
const kit = "millrace/testing";

/** Source files by path. */
const sources: Readonly<Record<string, string>> = {
  "src/count-words.ts": `import { tool } from "@langchain/core/tools";
import { z } from "zod";

/** Counts the words of a text. */
export const countWords = tool(({ text }) => text.split(/\\s+/u).filter((word) => word !== "").length, {
  name: "count_words",
  description: "Counts the words of a text.",
  schema: z.object({ text: z.string() }),
});
`,
  "src/agent.ts": `import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { countWords } from "./count-words.ts";

const State = new StateSchema({ messages: MessagesValue });
const tools = [countWords];

/** Calls a model with the tools; OPENAI_API_KEY is in .env. */
async function answer({ messages }: typeof State.State) {
  const model = new ChatOpenAI({ model: "gpt-4o-mini" }).bindTools(tools);
  return { messages: [await model.invoke(messages)] };
}

export const graph = new StateGraph(State)
  .addNode("answer", answer)
  .addNode("tools", new ToolNode(tools))
  .addEdge(START, "answer")
  .addConditionalEdges("answer", toolsCondition, ["tools", END])
  .addEdge("tools", "answer")
  .compile();
`,
  "src/counter.ts": `import { AIMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { countWords } from "./count-words.ts";

const State = new StateSchema({ messages: MessagesValue });

/** Answers with the number of words, without a model. */
async function answer({ messages }: typeof State.State) {
  const words = await countWords.invoke({ text: messages.at(-1)?.text ?? "" });
  return { messages: [new AIMessage(\`That is \${words} words.\`)] };
}

export const graph = new StateGraph(State).addNode("answer", answer).addEdge(START, "answer").addEdge("answer", END).compile();
`,
  "src/agent.test.ts": `import assert from "node:assert/strict";
import test from "node:test";
import { startModelServer, startTestServer } from "${kit}";

test("the agent counts by its tool, and tells what the model makes of it", async () => {
  const text = "three short words";
  const model = await startModelServer({
    script: [{ toolCalls: [{ name: "count_words", arguments: { text } }] }, { text: "It has three words." }],
  });
  process.env["OPENAI_API_KEY"] = "test";
  process.env["OPENAI_BASE_URL"] = model.url;
  const server = await startTestServer();
  try {
    const response = await fetch(\`\${server.url}/runs/wait\`, {
      method: "POST",
      body: JSON.stringify({ assistant_id: "agent", input: { messages: [{ role: "user", content: text }] } }),
    });
    assert.match(await response.text(), /It has three words\\./u);
    assert.match(JSON.stringify(model.requests[1]?.messages.at(-1)), /"3"/u);
    model.assertFinished();
  } finally {
    await server.close();
    await model.close();
  }
});
`,
};

/** Explicit files and a flag, since Node 22.14 finds no TypeScript tests by itself. */
const testCommand = 'node --experimental-strip-types --test "src/**/*.test.ts"';

/** The files of a new project by path. */
function filesOf(name: string, millrace: string): Record<string, string> {
  const dependencies = {
    "@langchain/core": "^1.4.0",
    "@langchain/langgraph": "^1.7.3",
    "@langchain/openai": "^1.6.0",
    millrace,
    zod: "^4.6.7",
  };
  const about = { name, private: true, type: "module", scripts: { test: testCommand }, dependencies };
  return {
    "langgraph.json": `{
  "dependencies": ["."],
  "graphs": { "agent": "./src/agent.ts:graph", "counter": "./src/counter.ts:graph" },
  "env": ".env"
}
`,
    "package.json": `${JSON.stringify({ ...about, engines: { node: ">=22.14" } }, null, 2)}\n`,
    ".gitignore": "node_modules/\n.env\n.millrace/\n",
    ".env": "# Keys of models, and other settings; not committed.\n# OPENAI_API_KEY=\n",
    ...sources,
    "README.md": `# ${name}

\`\`\`sh
npm install
npm test                                    # with a scripted model: no key, no network
npx millrace dev                            # serves src/, and again after each change; go on in a second terminal
npx millrace run --graph counter "three short words"
npx millrace run "how many words has: three short words"    # needs OPENAI_API_KEY in .env
\`\`\`
`,
  };
}

/**
 * Creates a project in an empty or missing folder and prints the next steps; `millrace` is how it refers to this
 * program. Throws `config` for any other folder.
 */
export function createProject(place: string, millrace: string): string {
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
  for (const [path, text] of Object.entries(filesOf(name, millrace))) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return `Made ${folder}. Next:\n\n  cd ${place}\n  npm install && npm test\n  npx millrace dev\n`;
}
