import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, it } from "vitest";
import { isOllamaInstalled } from "@millrace/models/ollama/health";

it("finds the program in the folders of PATH, where it can be run", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-ollama-"));
  try {
    const path = ["", join(folder, "none"), folder].join(delimiter);
    const before = await isOllamaInstalled(path);
    await writeFile(join(folder, "ollama"), "#!/bin/sh\n");
    await chmod(join(folder, "ollama"), 0o644);
    // Where the machine has one of its own, that is found in any case.
    expect(await isOllamaInstalled(path)).toBe(before);
    await chmod(join(folder, "ollama"), 0o755);
    expect(await isOllamaInstalled(path)).toBe(true);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
