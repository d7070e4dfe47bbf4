import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "@millrace/testing/free-port";
import { programEnvironment } from "./support/processes/program.ts";
import { filesBelow, projectFolder, sourceFiles } from "./support/source-files.ts";

const read = (path: string): string => readFileSync(join(projectFolder, path), "utf8");
const documents = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", ...filesBelow("docs", ".md")];

describe("the documents", () => {
  it("link to files and headings that are there", () => {
    const links = documents.flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/gu)].map(([link, file = "", heading]) => {
        const target = file === "" ? path : join(path, "..", file);
        return { link: `${path}: ${link}`, target, heading };
      }),
    );
    expect(links.length).toBeGreaterThan(50);
    const broken = links.filter(
      ({ target, heading }) =>
        !existsSync(join(projectFolder, target)) || (heading !== undefined && !headingsOf(target).includes(heading)),
    );
    expect(broken.map(({ link }) => link)).toEqual([]);
  });

  it("name npm scripts that are there", () => {
    const scripts: Record<string, string> = JSON.parse(read("package.json")).scripts;
    const named = documents.flatMap((path) =>
      [...read(path).matchAll(/npm run ([\w:-]+)/gu)].map(([, name]) => name ?? ""),
    );
    expect([...new Set(named)].filter((name) => !(name in scripts))).toEqual([]);
  });

  it("begin with a README of at most 150 lines, with two pictures of less than 300 KB", () => {
    expect(read("README.md").trimEnd().split("\n").length).toBeLessThanOrEqual(150);
    const pictures = [...read("README.md").matchAll(/!\[[^\]]+\]\((\S+\.png)\)/gu)].map(([, path]) => path ?? "");
    expect(pictures).toHaveLength(2);
    for (const path of pictures) expect(statSync(join(projectFolder, path)).size, path).toBeLessThan(300_000);
  });

  it("list every decision", () => {
    const list = read("docs/decisions/README.md");
    const pages = readdirSync(join(projectFolder, "docs/decisions")).filter((name) => name !== "README.md");
    expect(pages.filter((name) => !list.includes(`(${name})`))).toEqual([]);
    expect(pages.filter((name) => !/^\d{4}-\d{2}-\d{2}-[a-z-]+\.md$/u.test(name))).toEqual([]);
  });
});

describe("docs/reference/events.md", () => {
  const declared = [
    ...(read("src/events.ts").split("export type CustomEvent =")[1] ?? "").matchAll(/type: ("[^;}]+)/gu),
  ]
    .flatMap(([, names]) => (names ?? "").split("|"))
    .map((name) => name.trim().replaceAll('"', ""));
  const table = read("docs/reference/events.md").split("## ")[1] ?? "";

  it("has every event that is declared, and no other", () => {
    const listed = [...table.matchAll(/^\| (`[^|]+`) \|/gmu)].flatMap(([, names]) => (names ?? "").split(" "));
    expect(declared.length).toBeGreaterThan(20);
    expect(listed.map((name) => name.replaceAll("`", "")).toSorted()).toEqual(declared.toSorted());
  });

  it("says of every event that clients ask for where it is, or why it is not", () => {
    const wanted =
      "chunk message_complete tool_call tool_partial tool_status tool_result completion retry error done token_usage " +
      "window_length session_id agentic_loop.started agentic_loop.iteration agentic_loop.complete agentic_loop.error " +
      "agentic_loop.state_changed stop_requested stop_completed stop_state task_completed task_cancelled " +
      "web_search session_changed work_mode_changed workflow_locked workflow_unlocked awaiting_confirmation " +
      "context_usage suggest_new_conversation model_changed embedding_changed language_changed ollama_status " +
      "ollama_models file_changed operation_recorded operation_undone project_opened project_closed conversation_state " +
      "requires_confirm node_start node_end plan clarify interrupt degraded heartbeat task_progress";
    const page = read("docs/reference/events.md");
    expect(wanted.split(" ").filter((name) => !new RegExp(`(?<![\\w.])${name}`, "u").test(page))).toEqual([]);
  });

  it("speaks of events that are emitted somewhere", () => {
    const sources = sourceFiles().filter((path) => path !== "src/events.ts");
    const texts = sources.map(read).join("\n");
    // Only the toolkit emits it, and may be deleted.
    const removed = isOfRemovedToolkit("toolkits/web") ? ["web_search_started"] : [];
    expect(declared.filter((type) => !new RegExp(`type: "${type}"`, "u").test(texts))).toEqual(removed);
  });
});

/** Who deletes a toolkit takes its files along; its rows may stay. */
function isOfRemovedToolkit(file: string): boolean {
  const folder = /^toolkits\/[^/]+/u.exec(file)?.[0];
  return folder !== undefined && !existsSync(join(projectFolder, folder));
}

describe("docs/requirements.md", () => {
  const [built = "", notBuilt = ""] = read("docs/requirements.md").split("## Not built");
  const rowsOf = (text: string) =>
    text
      .split("\n")
      .filter((line) => /^\| [A-Z]+-/u.test(line))
      .map((line) => line.split("|").map((cell) => cell.trim()));
  const rows = rowsOf(built);
  const idsOf = (table: string[][]) => table.map(([, id = ""]) => id);

  it("has one row for each id, and misses none between the first and the last of a kind", () => {
    const ids = [...idsOf(rows), ...idsOf(rowsOf(notBuilt))];
    expect(ids.length).toBeGreaterThan(400);
    expect(ids.filter((id) => !/^[A-Z]+-\d{2}$/u.test(id))).toEqual([]);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    const missing = ids.filter((id) => {
      const [kind = "", number = ""] = id.split("-");
      return number !== "01" && !ids.includes(`${kind}-${String(Number(number) - 1).padStart(2, "0")}`);
    });
    expect(missing, "the id before it has no row").toEqual([]);
  });

  it("says what each id asks, and why one is not built", () => {
    const silent = [...rows, ...rowsOf(notBuilt)].filter(
      ([, , sentence = "", why = ""]) => sentence.length < 8 || why === "",
    );
    expect(idsOf(silent)).toEqual([]);
  });

  it("names a source and a test for what is built, and every file it names exists", () => {
    for (const [, id, , where = "", test = ""] of rows) {
      const files = [...`${where} ${test}`.matchAll(/`([^`]+)`/gu)].map(([, file]) => file ?? "");
      expect(files.length, id).toBeGreaterThan(1);
      expect(test, id).toMatch(/`(?:toolkits\/[^`/]+\/)?tests\/[^`]+\.ts`/u);
      expect(
        files.filter((file) => !existsSync(join(projectFolder, file)) && !isOfRemovedToolkit(file)),
        id,
      ).toEqual([]);
    }
  });
});

describe("the README, followed word by word", () => {
  const printed = "http://127.0.0.1:2024";
  let folder = "";
  let url = "";
  let server: ChildProcess;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-readme-"));
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    server = spawn(process.execPath, [join(projectFolder, "src/server.ts")], {
      cwd: folder,
      env: {
        ...programEnvironment,
        PORT: String(port),
        MILLRACE_GRAPHS: join(projectFolder, "langgraph.json"),
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    await saysAddress(server, url);
    // A start takes its time on a busy machine.
  }, 180_000);

  afterAll(async () => {
    server.kill("SIGTERM");
    if (server.exitCode === null) await once(server, "exit");
    rmSync(folder, { recursive: true, force: true });
  });

  it("does by curl what it promises", async () => {
    const blocks = [...read("README.md").matchAll(/^```sh\n([\s\S]*?)^```$/gmu)]
      .map(([, block]) => block ?? "")
      .filter((block) => block.startsWith("curl"));
    expect(blocks).toHaveLength(5);
    const answers: string[] = [];
    for (const [index, block] of blocks.entries()) {
      answers.push(await shell(block.replaceAll(printed, url)));
      if (index === 1) expect(readFileSync(join(folder, "workspace/drafts/one.md"), "utf8")).toBe("hello");
      if (index === 2) expect(existsSync(join(folder, "workspace/drafts"))).toBe(true);
      if (index === 3) expect(existsSync(join(folder, "workspace/drafts"))).toBe(false);
    }
    expect(answers[0]).toContain('"thread_id":"0192d1c4-7d5e-7000-8000-000000000001"');
    expect(answers[1]).toContain("event: messages");
    expect(answers[1]).toContain('"tool_call_id"');
    expect(answers[1]).not.toContain("event: custom");
    expect(answers[2]).toContain("__interrupt__");
    expect(answers[2]).toContain("delete_file");
    expect(answers[3]).not.toContain("__interrupt__");
    expect(answers[4]).toContain('"next":[]');
  });

  it("does by the SDK what it promises", async () => {
    const block = /^```ts\n([\s\S]*?)^```$/mu.exec(read("README.md"))?.[1] ?? "";
    symlinkSync(join(projectFolder, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "example.mts"), block.replaceAll(printed, url));
    const output = await shell(`"${process.execPath}" example.mts`);
    expect(output.length).toBeGreaterThan(10);
  });

  /** Runs lines as a reader would paste them; throws when they fail. */
  async function shell(lines: string): Promise<string> {
    const child = spawn("bash", ["-euo", "pipefail", "-c", lines], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    let problems = "";
    child.stdout.on("data", (part) => (output += String(part)));
    child.stderr.on("data", (part) => (problems += String(part)));
    // The first argument of a child's "close" event is its exit code.
    const [code] = (await once(child, "close")) as [number | null];
    expect(code, problems + output).toBe(0);
    return output;
  }
});

/** The names by which a page's headings are linked to. */
function headingsOf(path: string): string[] {
  return [...read(path).matchAll(/^#+ (.+)$/gmu)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

async function saysAddress(server: ChildProcess, url: string): Promise<void> {
  if (server.stdout === null) throw new Error("The server's output is not piped.");
  for await (const line of createInterface({ input: server.stdout })) {
    if (!line.includes(url)) continue;
    // What follows is drained, so that a full pipe never stops the server.
    server.stdout.resume();
    return;
  }
  throw new Error("The server ended without saying where it listens.");
}
