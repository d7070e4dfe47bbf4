import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { programEnvironment } from "../support/processes/program.ts";
import { projectFolder } from "../support/source-files.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-doctor-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What `millrace doctor` says in the folder, and its exit code. */
async function doctor(env: Record<string, string> = {}): Promise<{ out: string; code: unknown }> {
  const child = spawn(process.execPath, [join(projectFolder, "bin/millrace.cjs"), "doctor"], {
    cwd: folder,
    env: { ...programEnvironment, HOME: folder, PORT: "0", MILLRACE_MODEL: "offline", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (out += String(part)));
  const [code] = await once(child, "close");
  return { out, code };
}

// Each starts some programs; a busy machine takes its time for that.
describe("millrace doctor", { timeout: 180_000 }, () => {
  it("looks in an empty folder at the assistant that a start would serve, and makes nothing but its folder", async () => {
    const { out, code } = await doctor();
    expect(out).toMatch(/^ok {5}served {8}the assistant, since there is no langgraph\.json here$/mu);
    expect(out).toMatch(/^ok {5}graphs {8}agent$/mu);
    expect(out).toContain(join(folder, ".millrace/data"));
    expect([code, readdirSync(folder)]).toEqual([0, [".millrace"]]);
  });

  it("looks in a folder with a langgraph.json at its graphs, by the variables of its env", async () => {
    writeFileSync(join(folder, "langgraph.json"), '{ "graphs": {}, "env": "variables" }');
    writeFileSync(join(folder, "variables"), "MILLRACE_QUEUE_LIMIT=many\nMILLRACE_LOG_LEVEL=loud\n");
    const wrong = await doctor();
    expect(wrong.out).toMatch(/^ok {5}served {8}\S+langgraph\.json$/mu);
    // Each of the wrong values on a line of its own, below the first.
    expect(wrong.out).toMatch(/^WRONG {2}configuration .* 2 wrong value\(s\):\n {23}\S+: .*\n {23}\S+: /mu);
    writeFileSync(join(folder, "variables"), "");
    const empty = await doctor();
    expect(empty.out).toMatch(/^WRONG {2}graphs {8}\S+langgraph\.json names no graphs/mu);
    expect([wrong.code, empty.code, readdirSync(folder).toSorted()]).toEqual([
      1,
      1,
      [".millrace", "langgraph.json", "variables"],
    ]);
    writeFileSync(join(folder, "langgraph.json"), "{");
    expect(await doctor()).toEqual({ code: 1, out: expect.stringMatching(/^WRONG {2}served .*could not be read/u) });
  });

  it("says what is wrong with a port, a folder, keys, owners and a database, and what to do about each", async () => {
    const other = createServer().listen(0, "0.0.0.0");
    await once(other, "listening");
    mkdirSync(join(folder, "data"));
    writeFileSync(join(folder, "data/millrace.db"), "not a database");
    try {
      const { out, code } = await doctor({
        HOST: "0.0.0.0",
        PORT: String((other.address() as AddressInfo).port), // a server on a port has one
        MILLRACE_DATA_DIR: join(folder, "data"),
        MILLRACE_WORKSPACE: join(folder, "nowhere"),
        MILLRACE_OWNER_LIMITS: "guest:cost_per_day=1",
        MILLRACE_MODEL: "gpt-4o",
      });
      expect(out).toMatch(/^WRONG {2}model .*"gpt-4o" names no known provider\. Known: .*openai/mu);
      expect(out).toMatch(/^WRONG {2}port .* is in use\. Stop what uses it, or set PORT/mu);
      expect(out).toMatch(/^WRONG {2}folders .*nowhere.*MILLRACE_WORKSPACE/mu);
      expect(out).toMatch(/^WRONG {2}keys .*MILLRACE_API_KEYS is empty\. Set MILLRACE_API_KEYS to owner:key/mu);
      expect(out).toMatch(/^note {3}owners .*MILLRACE_OWNER_LIMITS names guest/mu);
      expect(out).toMatch(/^WRONG {2}database .*millrace\.db/mu);
      expect(code).toBe(1);
    } finally {
      other.close();
    }
  });

  it("says what to do about a PostgreSQL that does not answer, and never its password", async () => {
    const { out, code } = await doctor({ MILLRACE_DATABASE: "postgres://ada:hidden@127.0.0.1:1/name" });
    expect(out).toMatch(/^WRONG {2}database .*127\.0\.0\.1:1\/name.*Check that PostgreSQL runs/mu);
    expect(out).not.toContain("hidden");
    expect(code).toBe(1);
  });
});
