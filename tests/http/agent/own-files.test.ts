import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { problemIn } from "../../../src/extensions/text-problems.ts";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "offline",
    apiKeys: ["admin", "ann"].map((owner) => ({ owner, key: `key-of-${owner}` })),
  });
});
afterAll(() => server.remove());

const Answer = z.looseObject({ etag: z.string().optional(), tools: z.array(z.string()).nullish() });
const file = (path: string): string => join(server.config.workspace, path);
const textOf = (path: string): Promise<string | null> => readFile(file(path), "utf8").catch(() => null);

async function send(
  method: string,
  path: string,
  { text, known, owner = "admin" }: { text?: string; known?: string; owner?: string } = {},
): Promise<{ status: number; answer: z.infer<typeof Answer>; body: string }> {
  const headers = { "x-api-key": `key-of-${owner}`, ...(known !== undefined && { "if-match": known }) };
  const response = await server.send(method, path, text === undefined ? undefined : { text }, headers);
  const body = await response.text();
  const answer = Answer.parse(body.startsWith("{") ? JSON.parse(body) : {});
  return { status: response.status, answer, body };
}

const rule = (more = ""): string => `---\ndescription: Style\nglobs: "**/*.py"\n---\nUse snake_case.${more}\n`;
const agent = (name: string, more = "You look."): string =>
  `---\nname: ${name}\ndescription: Looks\ntools: read_file\n---\n${more}\n`;

describe.each([
  ["/rules/style.md", ".autocoderrules/style.md", rule],
  ["/agents/looker", ".autocoderagents/looker.md", (more?: string) => agent("looker", `You look.${more ?? ""}`)],
])("%s", (address, path, text) => {
  it("is created, read, changed with its known version, and deleted", async () => {
    const made = await send("PUT", address, { text: text() });
    expect([made.status, await textOf(path)]).toEqual([200, text()]);
    expect((await send("PUT", address, { text: text(" No.") })).status).toBe(412);
    const { answer } = await send("GET", address, { owner: "ann" });
    expect(answer).toMatchObject({ path, text: text(), valid: true, problems: [] });
    await writeFile(file(path), text(" By hand."));
    expect((await send("PUT", address, { text: text(" Mine."), known: answer.etag ?? "" })).status).toBe(412);
    expect((await send("DELETE", address, { known: answer.etag ?? "" })).status).toBe(412);
    expect((await send("DELETE", address)).status).toBe(428);
    expect(await textOf(path)).toBe(text(" By hand."));
    const { etag = "" } = (await send("GET", address)).answer;
    const changed = await send("PUT", address, { text: text(" Mine."), known: etag });
    expect([changed.status, await textOf(path)]).toEqual([200, text(" Mine.")]);
    const list = async () => (await send("GET", address.split("/", 2).join("/"))).body;
    expect(await list()).toContain("Mine.");
    expect((await send("DELETE", address, { known: "*" })).status).toBe(204);
    expect([await textOf(path), (await send("GET", address)).status]).toEqual([null, 404]);
    expect(await list()).not.toContain("Mine.");
  });

  it("can only be changed by administrators", async () => {
    const answers = [
      await send("PUT", address, { text: text(), owner: "ann" }),
      await send("DELETE", address, { known: "*", owner: "ann" }),
    ];
    expect([answers.map(({ status }) => status), await textOf(path)]).toEqual([[403, 403], null]);
  });
});

describe("a rule", () => {
  it("in any of the rule folders is addressed by its path; a new one is created beside the others", async () => {
    await mkdir(file(".auto-coder/autocoderrules"), { recursive: true });
    await writeFile(file(".auto-coder/autocoderrules/old.md"), rule());
    await writeFile(file("AGENTS.md"), "Be kind.");
    const named = encodeURIComponent(".auto-coder/autocoderrules/old.md");
    expect((await send("PUT", `/rules/${named}`, { text: rule(" New."), known: "*" })).status).toBe(200);
    expect(await textOf(".auto-coder/autocoderrules/old.md")).toBe(rule(" New."));
    await send("PUT", "/rules/new.md", { text: rule() });
    expect(await textOf(".auto-coder/autocoderrules/new.md")).toBe(rule());
    await send("PUT", "/rules/AGENTS.md", { text: "Be brief.", known: "*" });
    expect(await textOf("AGENTS.md")).toBe("Be brief.");
  });

  it.each(["../out.md", "sub/new.md", "new.txt", ".hidden.md", "/etc/x.md"])("cannot be named %s", async (name) => {
    const put = await send("PUT", `/rules/${encodeURIComponent(name)}`, { text: rule() });
    expect([put.status, await textOf(name)]).toEqual([400, null]);
  });

  it("that is a link out of the workspace cannot be written", async () => {
    await mkdir(file(".autocoderrules"), { recursive: true });
    await symlink("/etc/hostname", file(".autocoderrules/link.md"));
    const named = encodeURIComponent(".autocoderrules/link.md");
    expect((await send("PUT", `/rules/${named}`, { text: rule(), known: "*" })).status).toBe(403);
    expect((await send("GET", `/rules/${named}`)).status).toBe(404);
  });

  it("lists the tools it applies to", async () => {
    const check = async (text: string) => (await send("POST", "/rules/x.md/validate", { text })).answer.tools;
    const forFiles = (globs: string) => check(`---\ndescription: x\nglobs: "${globs}"\n---\nBe kind.`);
    expect(await check(rule())).toEqual(
      expect.arrayContaining(["edit_file", "list_code_definition_names", "read_file"]),
    );
    const others = ["ask_followup_question", "create_folder", "list_files", "run_simulation"];
    expect((await check(rule()))?.filter((tool) => others.includes(tool))).toEqual([]);
    // A tool is listed unless the pattern excludes it; a pattern of folders alone says nothing of the kind of files.
    const kinds = async (globs: string) =>
      (await forFiles(globs))?.filter((tool) => ["list_code_definition_names", "run_simulation"].includes(tool));
    expect(await kinds("**/*.{CIR,md}")).toContain("run_simulation");
    expect(await kinds("**/*.{TS,md}")).toEqual(["list_code_definition_names"]);
    expect(await kinds("docs/*.md")).toEqual([]);
    expect(await kinds("docs/**")).toEqual(["list_code_definition_names", "run_simulation"]);
    expect(await check("---\nalwaysApply: true\n---\nBe kind.")).toBeNull();
    expect(await check("---\ndescription: x\n---\nBe kind.")).toEqual([]);
  });
});

describe("an error in a file", () => {
  it.each([
    ["/rules/x.md", "---\ndescription: x\nalwaysApply: perhaps\n---\nBe kind.", 3, "error", "true or false"],
    ["/rules/x.md", "---\ndescription: 'x\n---\nBe kind.", 2, "error", "not YAML"],
    ["/rules/x.md", "---\ndescription: x\n---\n", null, "error", "no text"],
    ["/rules/x.md", "Be kind.", null, "warning", "no head"],
    ["/agents/a", agent("b"), 2, "error", '"b" here'],
    ["/agents/a", agent("a").replace("read_file", "no_tool"), 4, "error", "no_tool"],
    ["/agents/a", "You look.", null, "error", "two lines of ---"],
  ])("%s: %j is reported in line %s", async (address, text, line, severity, message) => {
    const { answer } = await send("POST", `${address}/validate`, { text });
    expect(answer).toMatchObject({
      valid: severity === "warning",
      problems: [{ line, severity, message: expect.stringContaining(message) }],
    });
    if (severity === "warning") return;
    const put = await send("PUT", address, { text });
    expect([put.status, put.body]).toEqual([400, expect.stringContaining(message)]);
  });

  it("is reported at its line, also for missing fields and for YAML with line numbers of its own", () => {
    const text = "---\nname: a\nglobs: [\n---\nname: no field here\n";
    expect(problemIn(text, "globs: expected a pattern", "error").line).toBe(3);
    expect(problemIn(text, "model: expected a text", "error").line).toBeNull();
    expect(problemIn(text, "its front matter is not YAML: broken at line 2, column 4:", "error").line).toBe(3);
  });
});
