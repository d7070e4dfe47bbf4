import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { z } from "zod";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Command } from "../support/processes/command.ts";
import { projectFolder } from "../support/source-files.ts";

let folder: string;
let command: Command | undefined;
beforeEach(async () => {
  // Resolved, as the program names it.
  folder = await realpath(await mkdtemp(join(tmpdir(), "millrace-folder-")));
  await cp(join(projectFolder, "tests/fixtures/graphs"), folder, { recursive: true });
});
afterEach(async () => {
  await command?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Leaves of the folder's graphs only these: what else it has takes seconds to load, and was loaded in the first test. */
async function serveOnly(...names: string[]): Promise<void> {
  const file = join(folder, "langgraph.json");
  const manifest = z.looseObject({ graphs: z.record(z.string(), z.unknown()) }).parse(await readJson(file));
  const graphs = Object.fromEntries(Object.entries(manifest.graphs).filter(([name]) => names.includes(name)));
  await writeFile(file, JSON.stringify({ ...manifest, graphs }));
}

async function readJson(file: string): Promise<unknown> {
  return JSON.parse(await readFile(file, "utf8"));
}

/** Changes a file at once: one that is written bit by bit is served halfway where the machine is busy. */
async function save(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

function run(url: string, graph: string, input: Record<string, unknown> = {}): Promise<unknown> {
  return new Client({ apiUrl: url, callerOptions: { maxRetries: 0 } }).runs.wait(crypto.randomUUID(), graph, {
    input,
    ifNotExists: "create",
  });
}

// Each starts servers of its own, some more than one; a busy machine takes its time for that.
describe("a folder with a langgraph.json and no code of ours", { timeout: 180_000 }, () => {
  it("is served by one command, and what fails to load is named with the reason", async () => {
    command = new Command(["start", "--config", join(folder, "langgraph.json")], tmpdir());
    const url = await command.url();
    const graphs = await new Client({ apiUrl: url }).assistants.search({ limit: 100 });
    expect(graphs).toHaveLength(14);
    expect(await run(url, "state_schema")).toMatchObject({ seen: ["hello from langgraph.json"] });
    expect(await run(url, "javascript", { messages: [] })).toMatchObject({ messages: [{ content: "from CommonJS" }] });
    const messages = [{ role: "user", content: "weather?" }];
    expect(await run(url, "react_agent", { messages })).toMatchObject({
      messages: [{}, {}, { content: "sunny in Graz" }, { content: "It is sunny in Graz." }],
    });
    const problems = command.lines.filter((line) => line.includes("graph_not_served")).map((line) => JSON.parse(line));
    expect(problems).toMatchObject([
      { graph_id: "langchain_agent", message: expect.stringContaining("Cannot find package 'langchain'") },
      { graph_id: "deep_agent", message: expect.stringContaining("Cannot find package 'deepagents'") },
      { graph_id: "broken", message: expect.stringMatching(/broken\.[jt]s:\d+: the key of the service is missing$/u) },
      { graph_id: "python", message: expect.stringContaining("is Python") },
    ]);
  });

  it("keeps what the server needs in one folder, which git does not see", async () => {
    await serveOnly("functional");
    const before = await readdir(folder);
    command = new Command(["start"], folder);
    await run(await command.url(), "functional", { value: 1 });
    expect((await readdir(folder)).filter((name) => !before.includes(name))).toEqual([".millrace"]);
    expect((await readdir(join(folder, ".millrace"))).toSorted()).toEqual([".gitignore", "data", "workspace"]);
    expect(await readFile(join(folder, ".millrace/.gitignore"), "utf8")).toBe("*\n");
  });

  it("need not be written to where what the server keeps is to be elsewhere, and says so where it has to be", async () => {
    await serveOnly("functional");
    await writeFile(join(folder, ".millrace"), "in the way");
    command = new Command(["start"], folder);
    expect(await command.exit()).toBe(1);
    expect(command.lines.join(" ")).toMatch(
      /\.millrace cannot be used: .* set MILLRACE_DATA_DIR and MILLRACE_WORKSPACE/u,
    );
    const elsewhere = await mkdtemp(join(tmpdir(), "millrace-elsewhere-"));
    try {
      const workspace = join(elsewhere, "workspace");
      await mkdir(workspace);
      const named = { MILLRACE_DATA_DIR: join(elsewhere, "data"), MILLRACE_WORKSPACE: workspace };
      command = new Command(["start"], folder, named);
      expect(await run(await command.url(), "functional", { value: 1 })).toBeDefined();
    } finally {
      await command.stop();
      await rm(elsewhere, { recursive: true, force: true });
    }
  });

  it("may be written as TypeScript's authors write: enums, aliases, no endings, a file for env", async () => {
    await writeFile(
      join(folder, "tsconfig.json"),
      `{
        // Comments are allowed here.
        "compilerOptions": { "baseUrl": ".", "paths": { "@/*": ["./*"] }, },
      }`,
    );
    await writeFile(join(folder, "mood.ts"), `export enum Mood { Glad = "glad", Sad = "sad" }\n`);
    await writeFile(
      join(folder, "moody.ts"),
      `import { Annotation, StateGraph } from "@langchain/langgraph";
       import { Mood } from "@/mood";
       import { greet } from "./greeting";
       const State = Annotation.Root({ mood: Annotation<Mood>() });
       export default new StateGraph(State)
         .addNode("feel", () => ({ mood: \`\${greet()}: \${Mood.Glad}\` as Mood }))
         .addEdge("__start__", "feel");`,
    );
    await writeFile(join(folder, "variables"), "FIXTURE_GREETING=hello from the file\nMILLRACE_LOG_LEVEL=silent\n");
    const manifest = { graphs: { moody: "./moody.ts" }, env: "variables" };
    await writeFile(join(folder, "langgraph.json"), JSON.stringify(manifest));
    command = new Command(["start"], folder);
    expect(await run(await command.url(), "moody")).toEqual({ mood: "hello from the file: glad" });
    const logged = command.lines.filter((line) => line.startsWith("{"));
    // Where it listens, and no warning.
    expect(logged).toEqual([expect.stringContaining('"msg":"listening"')]);
  });

  it("is served anew when a file changes, and a run that waits is still there", async () => {
    await serveOnly("state_schema", "asking");
    command = new Command(["dev", "--config", folder], tmpdir());
    const url = await command.url();
    // A chat that is served on another port of this machine.
    expect((await fetch(`${url}/info`, { headers: { origin: "http://localhost:5173" } })).status).toBe(200);
    expect((await fetch(`${url}/info`, { headers: { origin: "http://evil.example" } })).status).toBe(403);
    const client = new Client({ apiUrl: url });
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "asking", { input: {} });
    const printed = command.lines.length;
    await save(join(folder, "greeting.ts"), `export const greet = (): string => "changed";\n`);
    await command.says(/greeting\.ts has changed/u, printed);
    const again = await command.url(printed);
    expect(await run(again, "state_schema")).toMatchObject({ seen: ["changed"] });
    const answered = await new Client({ apiUrl: again }).runs.wait(thread_id, "asking", { command: { resume: "Ada" } });
    expect(answered).toMatchObject({ name: "Ada", __interrupt__: [{ value: { question: "How old are you, Ada?" } }] });
  });
});

describe("what is served anew", { timeout: 180_000 }, () => {
  it("is what was served before, while an edit cannot be loaded, and the edit when it can", async () => {
    await serveOnly("state_schema");
    command = new Command(["dev"], folder);
    const url = await command.url();
    const { thread_id } = await new Client({ apiUrl: url }).threads.create();
    const greeting = join(folder, "greeting.ts");
    for (const [edit, reason] of [
      [`export const greet = (): string => "half`, /\n {2}state_schema: .*greeting\.ts/u],
      [`process.exit(3);\nexport const greet = (): string => "never";\n`, /has ended; see above/u],
    ] as const) {
      const printed = command.lines.length;
      await save(greeting, edit);
      await command.says(/^greeting\.ts has changed, and cannot be served:$/u, printed);
      await command.says(/^What was served before is served on/u, printed);
      expect(command.lines.slice(printed).join("\n")).toMatch(reason);
      expect(await run(url, "state_schema")).toMatchObject({ seen: ["hello from langgraph.json"] });
    }
    const printed = command.lines.length;
    await save(greeting, `export const greet = (): string => "mended";\n`);
    const again = await command.url(printed);
    expect(await run(again, "state_schema")).toMatchObject({ seen: ["mended"] });
    expect((await new Client({ apiUrl: again }).threads.get(thread_id)).thread_id).toBe(thread_id);
  });

  it("says that a mistake has ended it, and goes on when that is mended", async () => {
    await serveOnly("functional");
    const manifest = await readFile(join(folder, "langgraph.json"), "utf8");
    await writeFile(join(folder, "langgraph.json"), "{");
    command = new Command(["dev"], folder);
    await command.says(/could not be read as a list of graphs/u);
    await command.says(
      /^The server has ended, see above\. The next change of a file starts it again; Ctrl-C ends this\.$/u,
    );
    const printed = command.lines.length;
    await save(join(folder, "langgraph.json"), manifest);
    expect(await run(await command.url(printed), "functional", { value: 1 })).toBeDefined();
    expect(command.lines.slice(printed).join("\n")).not.toContain("has ended");
  });
});

describe("the command", () => {
  it.each([
    [["start", "--config", "nowhere.json"], /There is no .*nowhere\.json.*--config <file>.*millrace new/u, 1],
    [["serve"], /There is no command "serve"/u, 64],
    [["start", "--colour"], /--colour/u, 64],
  ])("says what is wrong with %j", async (words, expected, code) => {
    command = new Command(words, folder);
    expect(await command.exit()).toBe(code);
    expect(command.lines.join(" ")).toMatch(expected);
  });

  it("explains itself", async () => {
    command = new Command(["--help"], folder);
    expect(await command.exit()).toBe(0);
    expect(command.lines.join("\n")).toMatch(/^ {2}dev /mu);
  });

  it("says what is wrong with a langgraph.json", async () => {
    await writeFile(join(folder, "langgraph.json"), `{"graphs": {"agent": 7}}`);
    command = new Command(["start"], folder);
    expect(await command.exit()).toBe(1);
    expect(command.lines.join(" ")).toMatch(/langgraph\.json could not be read as a list of graphs/u);
  });
});
