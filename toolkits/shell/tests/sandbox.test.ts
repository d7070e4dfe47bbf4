import { readdir, realpath, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSandboxSearch, findSandbox, sandboxArguments } from "../../../src/tools/programs/sandbox.ts";
import { Shell } from "../commands/shell.ts";
import { openCommandShell, type CommandShell } from "./command-shell.ts";

const sandbox = await findSandbox();

let fixture: CommandShell;
beforeEach(async () => {
  fixture = await openCommandShell();
});
afterEach(() => fixture.close());

it("looks for its sandbox once, also where two ask for it at the same time (ARCH-14)", async () => {
  fixture.shell = new Shell({ sandbox: "auto", hidden: [] });
  const [one, other] = [fixture.shell.sandbox(), fixture.shell.sandbox()];
  expect(one).toBe(other);
  expect(fixture.shell.sandbox()).toBe(one);
  await one;
});

it("has a sandbox from the next look on, where one slow moment let none be made", async () => {
  const found = [undefined, "/usr/bin/bwrap"];
  let [now, looks] = [0, 0];
  const look = async () => found[looks++];
  fixture.shell = new Shell({ sandbox: "auto", hidden: [], search: createSandboxSearch(look, () => now) });
  for (const [time, program, times] of [
    [0, undefined, 1],
    [59_999, undefined, 1],
    [60_000, "/usr/bin/bwrap", 2],
    [1e9, "/usr/bin/bwrap", 2],
  ] as const) {
    now = time;
    expect(await fixture.shell.sandbox()).toBe(program);
    expect(looks).toBe(times);
  }
});

it("looks for a sandbox again where the look itself failed", async () => {
  let looks = 0;
  const search = createSandboxSearch(async () => {
    looks += 1;
    if (looks === 1) throw new Error("no memory for a process");
    return "/usr/bin/bwrap";
  });
  await expect(search()).rejects.toThrow("no memory");
  expect(await search()).toBe("/usr/bin/bwrap");
});

it("reports how a command ran, even if a sandbox was found since", async () => {
  const found = [undefined, "/usr/bin/bwrap"];
  fixture.shell = new Shell({ sandbox: "auto", hidden: [], search: async () => found.shift() });
  const result = await fixture.execute("echo made");
  expect(result).toMatchObject({ success: true, data: { is_sandboxed: false } });
});

it.each([
  ["by its own name", "/usr/share", ["/usr/share"]],
  ["by a link", "link", ["/usr/share"]],
  ["which is not there (any more)", "/usr/no-such-folder", []],
  ["outside of what is shown", "", []],
])("a folder that is hidden %s is covered wherever the sandbox shows it", async (_, name, expected) => {
  fixture.shell = new Shell({ sandbox: "off", hidden: [] });
  await symlink("/usr/share", join(fixture.workspace.outside, "link"));
  expect(covered(resolve(fixture.workspace.outside, name))).toEqual(expected);
});

it("a file that is hidden is covered under both names of the folder around it", async () => {
  fixture.shell = new Shell({ sandbox: "off", hidden: [] });
  // On most machines /bin is a link to /usr/bin, and a sandbox shows both.
  const real = await realpath("/bin");
  const file = (await readdir(real, { withFileTypes: true })).find((entry) => entry.isFile())?.name ?? "sh";
  expect(covered(join(real, file)).toSorted()).toEqual([...new Set([`/bin/${file}`, join(real, file)])].toSorted());
});

/** What a sandbox has in place of a folder or a file, besides what all have so. */
function covered(place: string): string[] {
  const given = sandboxArguments(["true"], { workspace: fixture.workspace.root, hidden: [place], environment: {} });
  const places = given.flatMap((word, index) =>
    given[index - 1] === "--tmpfs" || given[index - 1] === "/dev/null" ? [word] : [],
  );
  return places.filter((place) => place !== "/tmp" && place !== "/run");
}

describe.runIf(sandbox !== undefined)("the sandbox", () => {
  beforeEach(() => {
    fixture.shell = new Shell({ sandbox: "auto", hidden: [] });
  });

  it("shows nothing of the machine but its programs", async () => {
    await writeFile(join(fixture.workspace.outside, "secret.txt"), "canary-7719");
    for (const path of [
      `${fixture.workspace.outside}/secret.txt`,
      "/etc/passwd",
      "/etc/shadow",
      "/root/.bashrc",
      "/proc/1/environ",
    ]) {
      const { content } = await fixture.execute(`cat ${path}`);
      expect(content).not.toMatch(/canary-7719|root:|CANARY/u);
    }
    expect((await fixture.execute("ls /home /root /var /mnt")).success).toBe(false);
  });

  it("shows no folder that is hidden, also where that is reached by a link", async () => {
    const link = join(fixture.workspace.outside, "data");
    await symlink("/usr/share", link);
    expect((await fixture.execute("ls -d /usr/share/doc")).success).toBe(true);
    fixture.shell = new Shell({ sandbox: "auto", hidden: [link] });
    expect((await fixture.execute("ls -d /usr/share/doc")).success).toBe(false);
    expect((await fixture.execute("ls -d /usr/share")).success).toBe(true);
  });

  it("shows nothing of a file that is hidden", async () => {
    expect((await fixture.execute("wc -c /usr/bin/env")).content).toMatch(/[1-9]\d* \/usr\/bin\/env/u);
    fixture.shell = new Shell({ sandbox: "auto", hidden: ["/usr/bin/env"] });
    expect((await fixture.execute("wc -c /usr/bin/env")).content).not.toMatch(/[1-9]\d* \/usr\/bin\/env/u);
    expect((await fixture.execute("wc -c /usr/bin/wc")).success).toBe(true);
  });

  it("runs commands when what was to be hidden is gone", async () => {
    fixture.shell = new Shell({ sandbox: "auto", hidden: ["/usr/bin/.env.swp"] });
    expect((await fixture.execute("echo works")).content).toContain("works");
  });

  it("lets nothing be written outside of the workspace", async () => {
    for (const path of ["/usr/made", "/etc/made", `${fixture.workspace.outside}/made`, "/opt/made"]) {
      await fixture.shell.run(
        { words: ["/bin/sh", "-c", `echo a > ${path}`], workspace: fixture.workspace.root },
        new AbortController().signal,
        5000,
      );
    }
    expect(await readdir(fixture.workspace.outside)).toEqual(["workspace"]);
    expect(await readdir("/usr")).not.toContain("made");
  });

  it("gives no rights by which it could be opened", async () => {
    const command = "mount -o remount,rw /usr; umount /usr; echo a > /usr/made; grep CapEff /proc/self/status";
    const request = { words: ["/bin/sh", "-c", command], workspace: fixture.workspace.root };
    const { shown } = await fixture.shell.run(request, new AbortController().signal, 5000);
    expect(shown).toContain("CapEff:\t0000000000000000");
    expect(await readdir("/usr")).not.toContain("made");
  });

  it("bounds what a file of it may hold", async () => {
    const { content } = await fixture.execute("prlimit --fsize --core --output RESOURCE,HARD --noheadings");
    expect(content).toMatch(/CORE\s+0/u);
    expect(content).toMatch(/FSIZE\s+1073741824/u);
  });

  it("has no network", async () => {
    const { content = "" } = await fixture.execute("cat /proc/net/dev");
    expect(
      content
        .split("\n")
        .filter((row) => row.includes(":"))
        .map((row) => row.split(":")[0]?.trim()),
    ).toEqual(["lo"]);
  });

  it("sees no process of the machine", async () => {
    const { content = "" } = await fixture.execute("ls /proc");
    expect(content.split("\n").filter((name) => /^\d+$/u.test(name)).length).toBeLessThan(6);
  });

  it("runs the programs of this runtime", async () => {
    expect((await fixture.execute("node --version")).content).toContain(process.version);
  });
});
