import { z } from "zod";
import { streamModes } from "../../run-events.ts";
import { RunCommand } from "../../runs/attempt/execute.ts";
import { RunConfig } from "../../runs/admission/run-config.ts";
import type { RunRequest } from "../../runs/admission/draft.ts";
import { storedConfigurable } from "../../sessions/sessions.ts";
import { JsonObject, MultitaskStrategy, type Session } from "../../storage/records.ts";
import { Id } from "../validate.ts";

const nodeNames = z.union([z.literal("*"), z.array(z.string()).max(200)]);
const StreamModeName = z.enum(streamModes);
const Checkpoint = z.looseObject({
  checkpoint_id: Id.nullish(),
  checkpoint_ns: z.string().nullish(),
  checkpoint_map: JsonObject.nullish(),
});

/**
 * The body that starts a run. Unknown fields are ignored and `null` means absent, so that every SDK's spelling is
 * accepted.
 */
export const RunBody = z
  .object({
    assistant_id: z.string().min(1),
    input: z.unknown().optional(),
    command: RunCommand.nullish(),
    config: RunConfig.nullish(),
    context: JsonObject.nullish(),
    metadata: JsonObject.nullish(),
    checkpoint: Checkpoint.nullish(),
    checkpoint_id: Id.nullish(),
    stream_mode: z.union([StreamModeName, z.array(StreamModeName).max(100)]).nullish(),
    stream_subgraphs: z.boolean().nullish(),
    stream_resumable: z.boolean().nullish(),
    interrupt_before: nodeNames.nullish(),
    interrupt_after: nodeNames.nullish(),
    multitask_strategy: MultitaskStrategy.nullish(),
    if_not_exists: z.enum(["reject", "create"]).nullish(),
    on_disconnect: z.enum(["continue", "cancel"]).nullish(),
    // The SDK's types say complete and continue, the servers delete and keep.
    on_completion: z.enum(["delete", "keep", "complete", "continue"]).nullish(),
    // Dates from the year 10000 on are written differently and sort before today: the run would start at once.
    after_seconds: z.number().nonnegative().max(200_000_000_000).nullish(),
    feedback_keys: z.array(z.string().min(1).max(100)).max(20).nullish(),
    langsmith_tracer: z
      .object({ project_name: z.string().min(1).max(200).nullish(), example_id: Id.nullish() })
      .nullish()
      .describe("Where LangSmith traces: the project that gets the spans as well, the example that the run stands for"),
    strict_resume: z.boolean().nullish().describe("An answer to a question that is not open fails the run"),
    webhook: z
      .string()
      .min(1)
      .max(2_000)
      .nullish()
      .describe("Is told of the end: an address, or a path of this server"),
    durability: z.enum(["sync", "async", "exit"]).nullish(),
    checkpoint_during: z.boolean().nullish().describe("What older clients say: true is `async`, false is `exit`"),
  })
  .meta({ ref: "RunCreate" });
export type RunBody = z.infer<typeof RunBody>;

/** Request headers that never become configuration: keys, and headers of other services. */
const keptOut = new Set(["x-api-key", "x-tenant-id", "x-service-key"]);

/** The headers a run sees in `config.configurable`: every `x-…` except keys, and `user-agent`. */
export function configurableHeaders(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name === "user-agent" || (name.startsWith("x-") && !keptOut.has(name))),
  );
}

/** What older clients' `checkpoint_during` means. */
const olderDurability = new Map<RunBody["checkpoint_during"], RunRequest["durability"]>([
  [true, "async"],
  [false, "exit"],
]);

/** The run request of a body, for its session; `headers` are the request's. */
export function toRunRequest(
  body: RunBody,
  session: Session,
  headers: Record<string, string>,
  temporary: boolean,
): RunRequest {
  const modes = body.stream_mode ?? "values";
  const checkpoint = checkpointOf(body);
  // The graph of the session's last run stays out: this run may use another.
  const { graph_id: _graphId, assistant_id: _assistantId, ...metadata } = session.metadata;
  return {
    assistant: body.assistant_id,
    input: body.input ?? undefined,
    command: body.command ?? undefined,
    config: {
      ...body.config,
      configurable: { ...configurableHeaders(headers), ...storedConfigurable(session), ...body.config?.configurable },
    },
    context: body.context ?? {},
    metadata: { ...metadata, ...body.metadata },
    stream_mode: Array.isArray(modes) ? modes : [modes],
    stream_subgraphs: body.stream_subgraphs ?? false,
    stream_resumable: body.stream_resumable ?? false,
    multitask_strategy: body.multitask_strategy ?? "reject",
    durability: body.durability ?? olderDurability.get(body.checkpoint_during) ?? "sync",
    temporary,
    ...(body.interrupt_before && { interrupt_before: body.interrupt_before }),
    ...(body.interrupt_after && { interrupt_after: body.interrupt_after }),
    ...(body.webhook && { webhook: body.webhook }),
    ...(body.feedback_keys && { feedback_keys: body.feedback_keys }),
    ...(body.langsmith_tracer && tracerOf(body.langsmith_tracer)),
    ...(body.strict_resume && { strict_resume: true }),
    ...(checkpoint && { checkpoint }),
    ...(body.after_seconds && { after_seconds: body.after_seconds }),
  };
}

function tracerOf({
  project_name,
  example_id,
}: NonNullable<RunBody["langsmith_tracer"]>): Pick<RunRequest, "langsmith_tracer"> {
  if (!project_name && !example_id) return {};
  return { langsmith_tracer: { ...(project_name && { project_name }), ...(example_id && { example_id }) } };
}

function checkpointOf(body: RunBody): JsonObject | undefined {
  const given = Object.entries(body.checkpoint ?? {}).filter(([, value]) => value !== null && value !== undefined);
  if (body.checkpoint_id) given.push(["checkpoint_id", body.checkpoint_id]);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}
