import { describe, expect, it } from "vitest";
import { AppError } from "@millrace/engine/errors/errors";
import { toFailure } from "../../src/tools/runtime/result.ts";

const system = (code: string): Error => Object.assign(new Error(`${code}: /secret/place`), { code });

describe("the model's text for a system error", () => {
  it.each([
    ["ENOENT", "not_found", /may be wrong: look at the folder/u],
    ["EACCES", "permission", /Do not repeat the call. Tell the user to check the permissions/u],
    ["EFBIG", "too_large", /a part of it/u],
    ["ENOSPC", "storage_full", /Tell the user to free some space/u],
  ])("%s is %s, with advice and without the place", (code, errorType, advice) => {
    const result = toFailure(system(code));
    expect(result).toMatchObject({ success: false, errorType });
    expect(result.content).toMatch(advice);
    expect(result.content).not.toContain("/secret");
  });

  it("keeps the advice that the tool itself gives", () => {
    const result = toFailure(new AppError("not_found", "No note of that name.", { suggestion: "Look at the list." }));
    expect(result.content).toBe("No note of that name. Look at the list.");
  });
});
