import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";
import { wordVector } from "./word-vectors.ts";

let model: ModelServer;
let server: TestServer;
let vectorOf: (text: string, signal: AbortSignal) => number[] | number | Promise<number[]>;

const usual = { embeddingModel: "openai:vectors" };
async function start(changes: Parameters<typeof startTestServer>[0] = usual): Promise<void> {
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
    ...changes,
  });
  await put({
    "src/login.ts": "export function login(user, word) {\n  return compare(word, user.credential);\n}\n",
    "src/billing.ts": "// Makes the bills of a month\nexport const bills = [];\n",
    "docs/pets.md": "# Pets\n\nThe kitten sleeps.\n",
  });
}

beforeEach(async () => {
  vectorOf = wordVector;
  model = await startModelServer({ script: [], embed: (text, signal) => vectorOf(text, signal) });
});
afterEach(async () => {
  await server.remove();
  await model.close();
});

async function put(files: Record<string, string | Buffer>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const file = join(server.config.workspace, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

const Values = z.looseObject({ messages: z.array(z.looseObject({ type: z.string(), content: z.string() })) });

/** One turn in which the model searches; gives what it reads, and of which files pieces were embedded for it. */
async function search(
  args: Record<string, unknown>,
  context: Record<string, unknown> = {},
): Promise<{ said: string; embedded: string[] }> {
  const from = model.embedded.length;
  model.push({ toolCalls: [{ name: "semantic_search", arguments: args }] }, { text: "Done." });
  const body = {
    assistant_id: "agent",
    input: { messages: [{ role: "user", content: "Where is it done?" }] },
    context,
  };
  const response = await server.send("POST", "/runs/wait", body);
  const { messages } = Values.parse(await response.json());
  const texts = model.embedded.slice(from).flatMap(({ body: { input } }) => input);
  const paths = texts
    .map((text) => text.split("\n"))
    .flatMap(([path = "", ...rest]) => (rest.length > 0 ? [path] : []));
  return {
    said: messages.find(({ type }) => type === "tool")?.content ?? "",
    embedded: [...new Set(paths)].toSorted(),
  };
}

/** The files of the pieces that were found, in their order. */
const filesIn = (said: string): string[] => [...said.matchAll(/^(\S+):\d+-\d+ \(/gmu)].map(([, path = ""]) => path);

describe("semantic_search", () => {
  it("finds by meaning, with file, lines and the piece, everywhere or at a path", async () => {
    await start();
    const { said } = await search({ query: "where are passwords checked?", limit: 1 });
    expect(said).toBe(
      "src/login.ts:1-3 (1.00)\nexport function login(user, word) {\n  return compare(word, user.credential);\n}",
    );
    expect(filesIn((await search({ query: "检查密码", limit: 1 })).said)).toEqual(["src/login.ts"]);
    expect(filesIn((await search({ query: "passwords", path: "docs" })).said)).toEqual(["docs/pets.md"]);
    expect(filesIn((await search({ query: "passwords", path: "src/billing.ts" })).said)).toEqual(["src/billing.ts"]);
    expect((await search({ query: "passwords", path: "srcs" })).said).toContain('Did you mean "src"?');
  });

  it("embeds a file once, and again only when its content is another, also after a restart", async () => {
    await start();
    expect((await search({ query: "cats" })).embedded).toEqual(["docs/pets.md", "src/billing.ts", "src/login.ts"]);
    expect((await search({ query: "cats" })).embedded).toEqual([]);
    await put({ "src/billing.ts": "// A cat\n", "docs/pets.md": "# Pets\n\nThe kitten sleeps.\n" });
    const changed = await search({ query: "cats" });
    expect(changed.embedded).toEqual(["src/billing.ts"]);
    expect(filesIn(changed.said)).toContain("src/billing.ts");
    await server.close();
    server = await server.restart();
    const later = await search({ query: "passwords", limit: 1 });
    expect([filesIn(later.said), later.embedded]).toEqual([["src/login.ts"], []]);
  });

  it("does not find what is gone, and forgets what another model has made", async () => {
    await start();
    await search({ query: "cats" });
    await rm(join(server.config.workspace, "docs"), { recursive: true });
    expect(filesIn((await search({ query: "cats" })).said).toSorted()).toEqual(["src/billing.ts", "src/login.ts"]);
    await server.close();
    server = await server.restart({ embeddingModel: "openai:others" });
    expect((await search({ query: "cats" })).embedded).toEqual(["src/billing.ts", "src/login.ts"]);
  });

  it("leaves out what is no text, what no search opens, and what holds secrets", async () => {
    await start();
    await put({
      "node_modules/a/index.js": "cat",
      ".git/config": "cat",
      ".env": "SECRET=cat",
      "keys/id_rsa": "cat",
      "picture.png": Buffer.from([0x89, 0x50, 0, 1]),
      "latin.txt": Buffer.from([0x63, 0xe9, 0xe9]),
      "large.txt": "cat ".repeat(200_000),
      "blank.txt": "\n\n",
    });
    await writeFile(join(server.config.workspace, "..", "outside.txt"), "cat");
    await symlink(join(server.config.workspace, "..", "outside.txt"), join(server.config.workspace, "link.txt"));
    expect((await search({ query: "cats" })).embedded).toEqual(["docs/pets.md", "src/billing.ts", "src/login.ts"]);
  });

  it("says what its limits leave out; a path that is named comes first", async () => {
    await start({ ...usual, index: { files: 2, pieces: 100, bytes: 100_000 } });
    const { said, embedded } = await search({ query: "passwords" });
    expect(embedded).toHaveLength(2);
    expect(said).toContain(
      "[1 file is not searched: the index holds at most 2 files, 100 pieces and 100000 bytes; name a folder or file with path",
    );
    const named = await search({ query: "passwords", path: "src/login.ts" });
    expect([filesIn(named.said), named.said.includes("not searched")]).toEqual([["src/login.ts"], false]);
    const again = await search({ query: "passwords" });
    expect([again.embedded, again.said.includes("1 file is not searched")]).toEqual([[], true]);
  });

  it.each([
    ["pieces", { files: 100, pieces: 3, bytes: 100_000 }],
    ["bytes", { files: 100, pieces: 100, bytes: 170 }],
  ])("counts %s over all files", async (_, index) => {
    await start({ ...usual, index });
    await put({ "z/long.md": "Cats sleep.\n\n".repeat(10), "z/more.md": `${"Cats eat. ".repeat(80)}\n\n`.repeat(2) });
    const { said } = await search({ query: "cats", limit: 20 });
    expect(said).toMatch(/\[[12] files? (?:is|are) not searched: the index holds at most/u);
    expect(filesIn(said)).not.toContain("z/more.md");
  });

  it("shows the vendor's error to the model, and continues the index once it is fixed", async () => {
    await start();
    vectorOf = () => 401;
    const refused = await search({ query: "cats" });
    expect(refused.said).toMatch(/^Error \(auth\): .*refused the key \(401\)/u);
    expect(refused.said).not.toContain("test-key");
    vectorOf = () => [];
    expect((await search({ query: "cats" })).said).toContain("has not a vector for each text. Check that the address");
    vectorOf = (text) => (text.includes("\n") ? 429 : wordVector(text));
    const limited = await search({ query: "cats" });
    expect(limited.said).toMatch(/^Error \(rate_limit\): The files could not be made searchable by meaning\. /u);
    expect(limited.said).toContain("search_content finds words exactly meanwhile.");
    vectorOf = (text) => (text.startsWith("src/login") ? 429 : wordVector(text));
    const partly = await search({ query: "cats" });
    expect(filesIn(partly.said).toSorted()).toEqual(["docs/pets.md", "src/billing.ts"]);
    expect(partly.said).toContain("[1 file is not searched, since the model for vectors failed: ");
    vectorOf = wordVector;
    expect((await search({ query: "cats" })).embedded).toEqual(["src/login.ts"]);
  });

  it("does without a text that the model refuses, and asks about it no more", async () => {
    await start();
    await put({ "src/odd.ts": `// odd\n\n${"cat ".repeat(150)}\n\n${"refuse ".repeat(100)}\n` });
    vectorOf = (text) => (text.includes("refuse") ? 400 : wordVector(text));
    const first = await search({ query: "cats", path: "src", limit: 20 });
    expect(filesIn(first.said).filter((path) => path === "src/odd.ts")).toHaveLength(1);
    expect((await search({ query: "cats" })).embedded).not.toContain("src/odd.ts");
  });

  it("is stopped while it embeds, and keeps what it has", async () => {
    await start();
    const thread = await server.client.threads.create();
    const [asked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<number[]>()];
    vectorOf = (text, signal) => {
      if (!text.startsWith("src/login")) return wordVector(text);
      signal.addEventListener("abort", () => over.resolve([]));
      asked.resolve();
      return over.promise;
    };
    model.push({ toolCalls: [{ name: "semantic_search", arguments: { query: "cats" } }] });
    const run = await server.client.runs.create(thread.thread_id, "agent", {
      input: { messages: [{ role: "user", content: "Where is it done?" }] },
    });
    await asked.promise;
    await server.client.runs.cancel(thread.thread_id, run.run_id, true);
    expect((await server.client.runs.get(thread.thread_id, run.run_id)).status).toBe("interrupted");
    // The request to the vendor has ended, too.
    await over.promise;
    vectorOf = wordVector;
    expect((await search({ query: "cats" })).embedded).toEqual(["src/login.ts"]);
  });

  it("finds nothing of a workspace that the server had before", async () => {
    await start();
    await search({ query: "cats" });
    await server.close();
    const other = join(server.config.workspace, "..", "other");
    await mkdir(other);
    server = await server.restart({ workspace: other });
    await put({ "bills.txt": "bills" });
    expect(filesIn((await search({ query: "cats" })).said)).toEqual(["bills.txt"]);
  });
});

describe("availability", () => {
  const toolNames = async (headers = {}): Promise<string[]> => {
    const from = model.requests.length;
    model.push({ text: "Done." });
    const body = { assistant_id: "agent", input: { messages: [{ role: "user", content: "Where is it done?" }] } };
    // The status comes before the run is over.
    await (await server.send("POST", "/runs/wait", body, headers)).text();
    return model.requests[from]?.toolNames ?? [];
  };

  it("is not offered without an embedding model; a run that names it gets an error that says what is missing", async () => {
    await start({});
    expect(await toolNames()).not.toContain("semantic_search");
    const { said } = await search({ query: "cats" }, { tools: ["semantic_search"] });
    expect(said).toContain(
      "No model makes vectors on this server, so nothing is found by meaning. Use search_content.",
    );
    expect(model.embedded).toEqual([]);
    const roles = { main: "openai:scripted", embedding: "openai:vectors" };
    expect((await server.send("PUT", "/models/roles", roles)).status).toBe(200);
    expect(await toolNames()).toContain("semantic_search");
  });

  it("is not offered to an owner who may not use it", async () => {
    const owners = ["ada", "bob"];
    await start({
      ...usual,
      apiKeys: owners.map((owner) => ({ owner, key: `key-of-${owner}` })),
      ownerTools: { bob: ["files"] },
    });
    expect(await toolNames({ "x-api-key": "key-of-ada" })).toContain("semantic_search");
    expect(await toolNames({ "x-api-key": "key-of-bob" })).not.toContain("semantic_search");
  });
});
