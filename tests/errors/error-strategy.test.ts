import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  alternativePlans,
  handle,
  isTransient,
  planToTry,
  strategies,
  userOptions,
  type Stage,
} from "@millrace/engine/errors/error-strategy";
import { errorQuestion, userSentence, userText } from "@millrace/engine/errors/error-texts";
import { AppError, errorCodes, type ErrorCode } from "@millrace/engine/errors/errors";
import { statusOf } from "@millrace/engine/http/errors";
import { projectFolder } from "../support/source-files.ts";

const failure = (code: ErrorCode, recoverable = true): AppError =>
  new AppError(code, `technical: ECONNRESET in ${code}`, { recoverable, suggestion: "Turn it off and on." });

/** What each stage does where everything is possible: the matrix of ERR-02..08, code by code. */
const matrix: Record<ErrorCode, [sameWay: string, anotherWay: string, askUser: string]> = {
  rate_limit: ["retry", "other_model", "ask"],
  auth: ["ask", "ask", "ask"],
  quota: ["other_model", "other_model", "ask"],
  network: ["retry", "other_model", "ask"],
  timeout: ["retry", "other_model", "ask"],
  server: ["retry", "other_model", "ask"],
  service_paused: ["other_model", "other_model", "ask"],
  empty_result: ["ask", "ask", "ask"],
  invalid_format: ["ask", "ask", "ask"],
  missing_parameter: ["ask", "ask", "ask"],
  invalid_parameter: ["ask", "ask", "ask"],
  tool_not_found: ["ask", "ask", "ask"],
  execution_failed: ["ask", "ask", "ask"],
  api_error: ["ask", "ask", "ask"],
  not_found: ["other_model", "other_model", "ask"],
  permission: ["ask", "ask", "ask"],
  conflict: ["ask", "ask", "ask"],
  context_overflow: ["shorter_context", "shorter_context", "ask"],
  too_large: ["ask", "ask", "ask"],
  blocked: ["fail", "fail", "fail"],
  denied: ["fail", "fail", "fail"],
  cancelled: ["fail", "fail", "fail"],
  invalid_state: ["fail", "fail", "fail"],
  unavailable_tool_mode: ["other_model", "other_model", "ask"],
  config: ["ask", "ask", "ask"],
  storage_full: ["ask", "ask", "ask"],
  storage_readonly: ["ask", "ask", "ask"],
  storage_io: ["ask", "ask", "ask"],
  storage_corrupt: ["ask", "ask", "ask"],
  storage_newer: ["ask", "ask", "ask"],
  storage_unavailable: ["ask", "ask", "ask"],
};
const stages: Stage[] = ["same_way", "another_way", "ask_user"];
const cells = errorCodes.flatMap((code) => stages.map((stage, at) => ({ code, stage, does: matrix[code][at] })));

function did(decision: ReturnType<typeof handle>): string {
  switch (decision.kind) {
    case "retry_with_alternative":
      return decision.plan;
    case "pause_for_user_decision":
      return "ask";
    default:
      return decision.kind;
  }
}

describe("the strategy matrix", () => {
  it.each(cells)("$code, from stage $stage: $does", ({ code, stage, does }) => {
    expect(did(handle(failure(code), stage, { plans: alternativePlans, mayAsk: true }))).toBe(does);
  });

  it.each(errorCodes)("%s: fails where the user cannot be asked and no other plan is left", (code) => {
    const decision = handle(failure(code, false), "same_way");
    expect(decision).toEqual({ kind: "fail", ...userText(code, "en") });
  });

  it("waits 1 s, then 3 s, then three times as long each time, and never longer than 30 s", () => {
    const delays = [0, 1, 2, 3, 4, 50].map((tries) => {
      const decision = handle(failure("network"), "same_way", { tries, maxTries: Infinity });
      return decision.kind === "retry" ? decision.delayMs : undefined;
    });
    expect(delays).toEqual([1000, 3000, 9000, 27_000, 30_000, 30_000]);
  });

  it.each(["network", "timeout", "server"] as const)("tries %s three times, and not where it cannot pass", (code) => {
    expect(handle(failure(code), "same_way", { tries: 2 }).kind).toBe("retry");
    expect(handle(failure(code), "same_way", { tries: 3 }).kind).toBe("fail");
    expect(handle(failure(code, false), "same_way").kind).toBe("fail");
  });

  it("waits as long as a service asks for, at most a minute, and twice", () => {
    const limited = failure("rate_limit");
    expect(handle(limited, "same_way", { requestedDelayMs: 7000 })).toEqual({ kind: "retry", delayMs: 7000 });
    expect(handle(limited, "same_way", { requestedDelayMs: 61_000 }).kind).toBe("fail");
    expect(handle(limited, "same_way", { tries: 2 }).kind).toBe("fail");
  });

  it("does nothing unasked once a reader has seen the beginning of the answer", () => {
    const situation = { hasBegun: true, plans: alternativePlans, mayAsk: true };
    expect(handle(failure("network"), "same_way", situation).kind).toBe("pause_for_user_decision");
    expect(handle(failure("context_overflow"), "another_way", situation).kind).toBe("pause_for_user_decision");
  });

  it("shortens a conversation that is too long, then sums it up, then takes another model, then asks", () => {
    const done: string[] = [];
    for (;;) {
      const plans = alternativePlans.filter((plan) => !done.includes(plan));
      const decision = handle(failure("context_overflow"), "same_way", { plans, mayAsk: true });
      if (decision.kind !== "retry_with_alternative") {
        expect(decision).toMatchObject({ kind: "pause_for_user_decision", options: ["Retry", "Skip", "Cancel"] });
        break;
      }
      done.push(decision.plan);
    }
    expect(done).toEqual(["shorter_context", "summary", "other_model"]);
  });

  it("offers another way only where there is one, and means the first of them", () => {
    const asked = handle(failure("auth"), "ask_user", { plans: ["other_model"], mayAsk: true });
    expect(asked).toEqual({
      kind: "pause_for_user_decision",
      message: userText("auth", "en").message,
      details: "technical: ECONNRESET in auth",
      suggestions: [userText("auth", "en").suggestion, "Turn it off and on."],
      options: [...userOptions],
    });
    expect(planToTry("auth", ["without_tools", "other_model"])).toBe("other_model");
    expect(planToTry("auth", ["without_tools"])).toBeUndefined();
  });

  it.each(errorCodes)("repeats %s by itself only where its class allows it", (code) => {
    const { class: errorClass, automatic } = strategies[code];
    expect(isTransient(code) && errorClass !== "recoverable").toBe(false);
    expect(automatic.length > 0 && errorClass === "fatal").toBe(false);
  });
});

describe("the texts for users", () => {
  it.each(errorCodes)("of %s say what happened and what to do, in both languages, without technical words", (code) => {
    for (const language of ["en", "zh"] as const) {
      const { message, suggestion } = userText(code, language);
      const texts = [message, suggestion, userSentence(code, language), errorQuestion(code, true, language)];
      for (const text of texts) {
        expect(text).not.toMatch(/\b(E[A-Z]{4,}|HTTP|JSON|SQL|errno|undefined|null|\d{3}|Error)\b/u);
        expect(/\p{Script=Han}/u.test(text)).toBe(language === "zh");
        expect(text).toMatch(/[.。？?]$/u);
      }
    }
  });

  it("are as the seed has them for what clients see most", () => {
    const zh = (code: ErrorCode): string => userSentence(code, "zh");
    expect(zh("network")).toMatch(/无法连接到.*连接中断/u);
    expect(zh("timeout")).toMatch(/请求超时.*请重试/u);
    expect(zh("auth")).toContain("未获授权");
    expect(zh("rate_limit")).toBe("请求过于频繁。请稍等片刻后重试。");
    expect(zh("server")).toContain("服务器错误");
  });

  it("of a question name what can be chosen", () => {
    expect(errorQuestion("network", false, "en")).not.toContain("TryAlternative");
    for (const option of userOptions) {
      expect(errorQuestion("network", true, "en")).toContain(option);
      expect(errorQuestion("network", true, "zh")).toContain(option);
    }
  });
});

describe("docs/reference/errors.md", () => {
  const planText = {
    shorter_context: "less of the conversation",
    summary: "a summary of it",
    without_tools: "no tools",
    other_model: "another model",
  };

  it("has a row for every code, with what the data says", () => {
    const rows = errorCodes.map((code) => {
      const { class: errorClass, retries, automatic, offered } = strategies[code];
      const steps = [
        ...(retries === 0 ? [] : [`${retries} more tries`]),
        ...automatic.map((plan) => planText[plan]),
        ...(offered.length === 0 ? [] : [`offers ${offered.map((plan) => planText[plan]).join(", ")}`]),
      ];
      const { message, suggestion } = userText(code, "en");
      return `| \`${code}\` | ${statusOf[code]} | ${errorClass} | ${message} | ${steps.join("; ") || "–"} | ${suggestion} |`;
    });
    const page = readFileSync(join(projectFolder, "docs/reference/errors.md"), "utf8");
    const written = page.split("\n").filter((line) => /^\| `\w+` \| \d{3} /u.test(line));
    expect(written.map((line) => line.replaceAll(/ +/gu, " "))).toEqual(rows);
  });
});
