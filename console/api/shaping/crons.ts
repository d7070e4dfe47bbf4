import { keepPreviousData, useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { useSettled } from "../../app/settled.ts";
import { runStatuses } from "../../run/run-filter.ts";
import { ApiError, perform, request } from "../client.ts";
import { Run } from "../shapes.ts";
import { queryClient } from "../threads.ts";

const Cron = z.object({
  cron_id: z.string(),
  assistant_id: z.string(),
  thread_id: z.nullable(z.string()),
  schedule: z.string(),
  timezone: z.nullable(z.string()),
  end_time: z.nullable(z.string()),
  payload: z.record(z.string(), z.unknown()),
  metadata: z.record(z.string(), z.unknown()),
  enabled: z.boolean(),
  on_run_completed: z.enum(["delete", "keep"]),
  next_run_date: z.nullable(z.string()),
  created_at: z.string(),
});
/** Runs that the clock starts. */
export type Cron = z.infer<typeof Cron>;

/** Maximum number of schedules that are read. */
const maxCrons = 1_000;

/** All schedules, the newest first. */
export function useCrons() {
  return useQuery({
    queryKey: ["crons"],
    queryFn: ({ signal }) =>
      request("/runs/crons/search", z.array(Cron), { method: "POST", body: { limit: maxCrons }, signal }),
  });
}

const Preview = z.object({ dates: z.array(z.string()) });

/** The next dates of a schedule, at most five, once one has typed; `null`: it cannot be read. */
export function useNextDates({ schedule, timezone, end_time }: Pick<CronFields, "schedule" | "timezone" | "end_time">) {
  const times = useSettled(JSON.stringify({ schedule, timezone, end_time }));
  return useQuery({
    queryKey: ["crons", "dates", times],
    queryFn: async ({ signal }) => {
      try {
        return (await request("/crons/preview", Preview, { method: "POST", body: JSON.parse(times), signal })).dates;
      } catch (error) {
        if (error instanceof ApiError && error.status === 400) return null;
        throw error;
      }
    },
    placeholderData: keepPreviousData,
  });
}

const CronRun = z.object({
  run_id: z.string(),
  thread_id: z.string(),
  status: z.enum(runStatuses),
  queued_at: z.string(),
  started_at: z.nullable(z.string()),
  ended_at: z.nullable(z.string()),
});

/** The newest runs that a schedule has started and that are still kept. */
export function useCronRuns(cronId: string) {
  return useQuery({
    queryKey: ["crons", cronId, "runs"],
    queryFn: ({ signal }) => request(`/runs?cron_id=${cronId}&limit=10`, z.array(CronRun), { signal }),
    // The clock publishes no event when it starts one.
    staleTime: 0,
  });
}

/** What of a schedule can be chosen. */
export interface CronFields {
  schedule: string;
  timezone: string | null;
  end_time: string | null;
  on_run_completed: "delete" | "keep";
  input: unknown;
}

/** Makes a schedule whose runs have a new thread each; gives its id. */
export async function createCron(assistantId: string, { timezone, ...fields }: CronFields): Promise<string> {
  const body = { assistant_id: assistantId, ...(timezone !== null && { timezone }), ...fields };
  const { cron_id } = await request("/runs/crons", Cron, { method: "POST", body });
  await readAgain();
  return cron_id;
}

/** Changes what is named of a schedule. */
export async function changeCron(cronId: string, fields: Partial<CronFields & { enabled: boolean }>): Promise<void> {
  await perform(`/runs/crons/${cronId}`, { method: "PATCH", body: fields });
  await readAgain();
}

/** Deletes a schedule; what it has started goes on. */
export async function deleteCron(cronId: string): Promise<void> {
  await perform(`/runs/crons/${cronId}`, { method: "DELETE" });
  await readAgain();
}

/** Starts a run of a schedule now, besides its dates; its chat stays. */
export async function runCronNow(cronId: string): Promise<{ thread_id: string; run_id: string }> {
  return await request(`/runs/crons/${cronId}/run`, Run, { method: "POST" });
}

function readAgain(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ["crons"] });
}
