import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { hasEnded, thisProcess } from "@millrace/engine/storage/postgres/servers/place-of-process";

it("a server is known to have ended only by its process, on its machine and in its container", () => {
  const here = thisProcess();
  const ended = spawnSync("true").pid;
  expect(hasEnded({ ...here, process: ended })).toBe(true);
  expect(hasEnded({ ...here, process: process.ppid })).toBe(false);
  // Containers may have one name and number their processes alike.
  const [name = "", boot = ""] = here.host.split(" ");
  for (const host of [name, `${name} ${boot} pid:[1]`, `elsewhere ${boot}`]) {
    expect(hasEnded({ host, process: ended })).toBe(false);
    expect(hasEnded({ host, process: process.pid })).toBe(false);
  }
});
