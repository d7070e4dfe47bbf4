import { z } from "zod";
import { isSchedule, isTimeZone } from "../../crons/schedule.ts";
import { JsonObject, type Session } from "../../storage/records.ts";
import { RunBody, toRunRequest } from "./run-request.ts";
import { FieldNames, Id } from "../validate.ts";
import type { RunRequest } from "../../runs/admission/draft.ts";
import { checkedBody } from "./runs.ts";

/** The request of a cron's runs: a run's body without what only a single run can have. */
export const CronPayload = RunBody.omit({
  command: true,
  checkpoint: true,
  checkpoint_id: true,
  metadata: true,
  if_not_exists: true,
  on_disconnect: true,
  on_completion: true,
  after_seconds: true,
});

const Moment = z.iso.datetime({ offset: true }).transform((text) => new Date(text).toISOString());
const CronFields = {
  schedule: z
    .string()
    .max(200)
    .refine(isSchedule, {
      error: "expected five fields: minute, hour, day of the month, month, day of the week, such as 30 9 * * 1-5",
    })
    .describe("Minute, hour, day of the month, month, day of the week"),
  timezone: z
    .string()
    .max(100)
    .refine(isTimeZone, { error: "expected an IANA time zone, such as Europe/Berlin or UTC" })
    .nullish()
    .describe("An IANA name such as Europe/Berlin; default UTC"),
  end_time: Moment.nullish().describe("No run starts at this date or later; null takes it away"),
  enabled: z.boolean().nullish(),
  metadata: JsonObject.nullish(),
  on_run_completed: z
    .enum(["delete", "keep"])
    .nullish()
    .describe("What becomes of the thread that is made for a run; default delete"),
};

/** A schedule whose dates are asked for. */
export const CronTimes = z.object(CronFields).pick({ schedule: true, timezone: true, end_time: true });

/** Its next dates. */
export const CronDates = z.object({ dates: z.array(z.string()) }).meta({ ref: "CronDates" });

/** The body that creates a cron. */
export const CronCreate = CronPayload.extend(CronFields).meta({ ref: "CronCreate" });

/** The body that changes a cron; omitted fields stay as they are. */
export const CronPatch = CronCreate.partial().meta({ ref: "CronPatch" });

/** Selects crons. */
export const CronFilter = z.object({
  assistant_id: z.string().nullish(),
  thread_id: Id.nullish(),
  enabled: z.boolean().nullish(),
  metadata: JsonObject.nullish(),
});

/** The body of a search for crons. */
export const CronSearch = CronFilter.extend({
  limit: z.number().int().min(1).max(1_000).nullish(),
  offset: z.number().int().min(0).nullish(),
  sort_by: z.enum(["cron_id", "assistant_id", "thread_id", "created_at", "updated_at", "next_run_date"]).nullish(),
  sort_order: z.enum(["asc", "desc"]).nullish(),
  select: FieldNames.nullish(),
});

/** A cron as the wire shows it. */
export const CronShape = z
  .object({
    cron_id: z.string(),
    assistant_id: z.string(),
    thread_id: z.string().nullable(),
    user_id: z.string().nullable().describe("The owner of the key that made it, or the user of auth.path"),
    schedule: z.string(),
    timezone: z.string().nullable(),
    end_time: z.string().nullable(),
    payload: JsonObject,
    metadata: JsonObject,
    enabled: z.boolean(),
    on_run_completed: z.enum(["delete", "keep"]),
    next_run_date: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ ref: "Cron" });

/** The run request of a cron's payload in a session. If another run works, it is queued. */
export async function cronRequest(
  services: Parameters<typeof checkedBody>[0],
  payload: JsonObject,
  session: Session,
  temporary: boolean,
): Promise<RunRequest> {
  const { body } = await checkedBody(services, RunBody.parse({ multitask_strategy: "enqueue", ...payload }));
  return toRunRequest(body, session, {}, temporary);
}
