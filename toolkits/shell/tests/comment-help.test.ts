import { expect, it } from "vitest";
import { commentHelp } from "../external-tools/tool-help.ts";

it.each([
  [
    "#!/bin/sh\n# Description: Says hello\n# Usage: hello [name]\necho hi",
    ".sh",
    "Description: Says hello\nUsage: hello [name]",
  ],
  [
    "#!/usr/bin/env python3\nimport os\n# 用法：count <文件>\n#   -v 详细\nx = 1\n# not this",
    ".py",
    "用法：count <文件>\n-v 详细",
  ],
  ["// Usage: a\n//\n// more\n//\n//\n// no more", ".js", "Usage: a\n\nmore"],
  ["<?php\n// help: b", ".php", "help: b"],
  ["# just a comment\necho", "", ""],
  ["// Usage: not the mark of a shell", ".sh", ""],
  ["# 说明：统计", ".sh", "说明：统计"],
  ["# 描述: 统计", ".sh", "描述: 统计"],
  [`${"\n".repeat(49)}# Usage: in the last line`, ".sh", "Usage: in the last line"],
  [`${"\n".repeat(50)}# Usage: too late`, ".sh", ""],
  ["", ".sh", ""],
])("takes from the head of %j its help", (text, extension, help) => {
  expect(commentHelp(text, extension)).toBe(help);
});

it("is never longer than what a model should read", () => {
  expect(commentHelp(`# Usage: ${"x".repeat(50_000)}`, ".sh").length).toBe(4000);
});
