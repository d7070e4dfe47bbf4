import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { hasProcessEnded, thisProcess } from "@millrace/engine/storage/postgres/servers/process-identity";

it("a server counts as ended only by its process, on the same machine and in the same container", () => {
  const here = thisProcess();
  const ended = spawnSync("true").pid;
  expect(hasProcessEnded({ ...here, process: ended })).toBe(true);
  expect(hasProcessEnded({ ...here, process: process.ppid })).toBe(false);
  // Containers may share a name and number their processes alike.
  const [name = "", boot = ""] = here.host.split(" ");
  for (const host of [name, `${name} ${boot} pid:[1]`, `elsewhere ${boot}`]) {
    expect(hasProcessEnded({ host, process: ended })).toBe(false);
    expect(hasProcessEnded({ host, process: process.pid })).toBe(false);
  }
});
