import { z } from "zod";
import { AppError } from "../../errors/errors.ts";
import { JsonObject, type Run } from "../../storage/records.ts";

/** What a run may say in `config`; other keys are ignored. */
export const RunConfig = z.object({
  tags: z.array(z.string()).max(100).optional(),
  recursion_limit: z.number().int().positive().optional(),
  max_concurrency: z.number().int().positive().optional(),
  /** Milliseconds; more than a timer can count (25 days) is no limit that anybody means. */
  timeout: z.number().positive().max(0x7fff_ffff).optional(),
  configurable: JsonObject.optional(),
  metadata: JsonObject.optional(),
});

/** What an assistant may say in `config`: the same, and its other keys are stored. */
export const AssistantConfig = RunConfig.loose();

/** What is wrong with a value, by the names of the fields in it. */
export function describeIssues(name: string, { issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${[name, ...path].join(".")}: ${message}`).join("; ");
}

/**
 * The `config` of a run with its assistant's, or why it cannot be used. What a request says is checked when it comes, so
 * what is wrong is its assistant's, of a time when that was not checked.
 */
export function readRunConfig({
  assistant_id,
  kwargs,
}: Pick<Run, "assistant_id"> & { kwargs: Pick<Run["kwargs"], "config"> }): z.infer<typeof RunConfig> | AppError {
  const { data, error } = RunConfig.safeParse(kwargs.config);
  if (data !== undefined) return data;
  const issues = describeIssues("config", error);
  return new AppError("invalid_parameter", `The config of assistant "${assistant_id}" is wrong: ${issues}.`, {
    suggestion: "Correct the named fields of the assistant (PATCH /assistants/:id), or give the run its own values.",
    message_zh: `助手“${assistant_id}”的 config 有误：${issues}。`,
  });
}
