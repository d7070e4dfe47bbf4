import { mkdir, mkdtemp, realpath, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { dependencies } from "../collectors/dependencies.ts";

let workspace = "";
let warnings: string[] = [];
afterEach(() => rm(workspace, { recursive: true, force: true }));

async function collect(files: Record<string, string>): Promise<string | null> {
  warnings = [];
  workspace = await realpath(await mkdtemp(join(tmpdir(), "millrace-dependencies-")));
  let time = 1_000_000;
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await writeFile(join(workspace, path), content);
    await utimes(join(workspace, path), time, time);
    time += 10;
  }
  const nothing = { sim_result: null, design_goals: null, error: null, metrics: null, now: 0 };
  const context = { workspace, circuit_file: "amp.cir", ...nothing };
  return dependencies.collect(context, new AbortController().signal, (reason) => warnings.push(reason));
}

it("shows included files whole, the sub-circuits of those further away, and of the others the names", async () => {
  const text = await collect({
    "amp.cir": 't\n.include "lib/one.inc"\n.lib lib/new.lib fast\n.include gone.inc',
    "lib/one.inc": "* one\nR1 a b 1k\n.include two.inc",
    "lib/two.inc": "* two\n.subckt stage in out\nR2 in out 1\n.ends\n.include three.inc\nR9 a b 1",
    "lib/three.inc": "* three\n.include four.inc",
    "lib/four.inc": ".subckt deep a\n.ends\n.include five.inc",
    "lib/five.inc": ".include six.inc",
    "lib/six.inc": "* never read",
    "lib/new.lib": "* newest",
  });
  expect(text).toBe(
    [
      "lib/new.lib\n```spice\n* newest\n```",
      "lib/one.inc\n```spice\n* one\nR1 a b 1k\n.include two.inc\n```",
      "gone.inc (not there)",
      "lib/two.inc (its sub-circuits)\n```spice\n.subckt stage in out\nR2 in out 1\n.ends\n```",
      "lib/three.inc",
      "lib/four.inc",
      "lib/five.inc",
    ].join("\n\n"),
  );
});

it("shows a long one by its beginning, its end and what it is made of (CTX-17)", async () => {
  const long = `Title\n${Array.from({ length: 1000 }, (_, index) => `R${index} a b ${index}k`).join("\n")}\n.end`;
  const text = await collect({ "amp.cir": "t\n.include long.inc", "long.inc": long });
  expect(text).toMatch(/^long\.inc\nTitle: Title\nComponents: R 1000\n```spice\nTitle\n/u);
  expect(text).toMatch(/\n\[… \d+ lines left out …\]\n[^]*\n\.end\n```$/u);
});

it("reports files that include each other, and reads each once", async () => {
  const text = await collect({ "amp.cir": "t\n.include a.inc", "a.inc": ".include b.inc", "b.inc": ".include a.inc" });
  expect(text).toContain("They include each other: a.inc → b.inc → a.inc");
  expect(text?.match(/^a\.inc/gmu)).toHaveLength(1);
});

it("reads nothing outside of the workspace, and says nothing of a circuit that includes nothing", async () => {
  expect(await collect({ "amp.cir": "t\n.include /etc/passwd\n.include ../x.inc\nR1 a b 1" })).toBeNull();
});

it("shows fifty files at most", async () => {
  const names = Array.from({ length: 60 }, (_, at) => `${at}.inc`);
  const text = await collect({ "amp.cir": `t\n${names.map((name) => `.include ${name}`).join("\n")}` });
  expect(text?.split("\n\n")).toEqual(names.slice(0, 50).map((name) => `${name} (not there)`));
});

it("keeps the others if one cannot be read, and reports that one", async () => {
  const text = await collect({
    "amp.cir": "t\n.include raw.inc\n.include a.inc",
    "raw.inc": "\0\0",
    "a.inc": "R1 a b 1",
  });
  expect(text).toBe("a.inc\n```spice\nR1 a b 1\n```\n\nraw.inc (cannot be read)");
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain("raw.inc");
});

it("counts the distance of a file by the shortest way, whatever is named first", async () => {
  const text = await collect({
    "amp.cir": "t\n.include a.inc\n.include c.inc",
    "a.inc": ".include b.inc",
    "b.inc": ".include c.inc",
    "c.inc": "R1 a b 1",
  });
  expect(text).toContain("c.inc\n```spice\nR1 a b 1\n```");
});

it("reports files that include each other if the circuit includes both", async () => {
  const text = await collect({
    "amp.cir": "t\n.include a.inc\n.include b.inc",
    "a.inc": ".include b.inc",
    "b.inc": ".include a.inc",
  });
  expect(text?.match(/They include each other: .*/gu)).toEqual(["They include each other: a.inc → b.inc → a.inc"]);
});

it("follows the files of models, and names that are absolute within the workspace", async () => {
  const text = await collect({
    "amp.cir": 't\n.model wave filesource (file="data/wave.txt" amploffset=[0])\n.model npn npn bf=100',
    "data/wave.txt": "0 1\n",
  });
  expect(text).toBe("data/wave.txt\n```spice\n0 1\n```");
  await writeFile(join(workspace, "amp.cir"), `t\n.include ${workspace}/data/wave.txt`);
  const nothing = { sim_result: null, design_goals: null, error: null, metrics: null, now: 0 };
  const context = { workspace, circuit_file: "amp.cir", ...nothing };
  const { signal } = new AbortController();
  expect(await dependencies.collect(context, signal, expect.unreachable)).toContain("data/wave.txt");
});
