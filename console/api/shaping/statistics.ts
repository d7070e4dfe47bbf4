import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import * as z from "zod/mini";
import { request, send } from "../client.ts";
import { onChange } from "../live/feed.ts";
import { saveAs } from "../operations.ts";
import { queryClient } from "../threads.ts";

const ModelDays = z.array(
  z.object({
    day: z.string(),
    model: z.string(),
    requests: z.number(),
    failed: z.number(),
    input_tokens: z.number(),
    output_tokens: z.number(),
    cached_tokens: z.number(),
    cost: z.number(),
    mean_duration_ms: z.nullable(z.number()),
    mean_first_token_ms: z.nullable(z.number()),
  }),
);

interface Days {
  from: string;
  to: string;
}

/** Milliseconds between two readings while runs go on. */
const quiet = 1_000;

const pathOf = ({ from, to }: Days): string => `/usage/models?${new URLSearchParams({ from, to }).toString()}`;

/** How the calls of each model went on each of these days; read again after a run has changed. */
export function useModelDays({ from, to }: Days) {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = (): void => {
      timer = undefined;
      void queryClient.invalidateQueries({ queryKey: ["model-days"] });
    };
    const end = onChange(({ type }) => {
      if (type === "run") timer ??= setTimeout(read, quiet);
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, []);
  return useQuery({
    queryKey: ["model-days", from, to],
    queryFn: ({ signal }) => request(pathOf({ from, to }), ModelDays, { signal }),
    placeholderData: (before) => before,
  });
}

/** Saves the same as a table. */
export async function saveModelDays(days: Days): Promise<void> {
  const response = await send(`${pathOf(days)}&format=csv`);
  saveAs(await response.blob(), `models-${days.from}-${days.to}.csv`);
}
