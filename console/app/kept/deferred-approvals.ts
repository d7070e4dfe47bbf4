import { useMemo, useSyncExternalStore } from "react";
import * as z from "zod/mini";
import { keepText, onTexts, readText, valueOf } from "./texts.ts";

const place = "put-off";
/** Maximum number of remembered ids; the oldest are dropped, they were answered long ago. */
const maxKept = 500;

function idsOf(text: string): readonly string[] {
  return valueOf(text, z.array(z.string())) ?? [];
}

function keep(ids: readonly string[]): void {
  keepText(place, JSON.stringify([...new Set(ids)].slice(-maxKept)));
}

/** Defers an approval on this device: it is listed apart from the others until it is answered or restored. */
export function deferApproval(id: string): void {
  keep([...idsOf(readText(place)), id]);
}

/** Lists deferred approvals with the others again. */
export function restoreDeferred(ids: readonly string[]): void {
  keep(idsOf(readText(place)).filter((id) => !ids.includes(id)));
}

/** The ids of the deferred approvals. */
export function useDeferredApprovals(): ReadonlySet<string> {
  const text = useSyncExternalStore(onTexts, () => readText(place));
  return useMemo(() => new Set(idsOf(text)), [text]);
}
