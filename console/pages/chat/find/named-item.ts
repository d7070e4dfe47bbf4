import i18next from "i18next";
import { useEffect, useState } from "react";
import { useLocationProperty } from "wouter/use-browser-location";
import { decoded } from "../../../app/addresses.ts";
import { notify, notifyError } from "../../../parts/toast.tsx";
import { useOpenThread } from "../thread-context.tsx";

/** The item with the message that the address names, once it is loaded. */
export function useNamedItem(): string | undefined {
  const thread = useOpenThread();
  const hash = useLocationProperty(() => location.hash);
  const id = hash.length > 1 ? decoded(hash.slice(1)) : undefined;
  const [named, setNamed] = useState<{ id: string; item: string }>();
  useEffect(() => {
    if (id === undefined) return undefined;
    let isCurrent = true;
    const show = (item: string | undefined): void => {
      if (!isCurrent) return;
      if (item === undefined) notify(i18next.t("find.gone"));
      else setNamed({ id, item });
    };
    thread.reach(id).then(show, (error: unknown) => isCurrent && notifyError(error));
    return () => {
      isCurrent = false;
    };
  }, [id, thread]);
  return named?.id === id ? named?.item : undefined;
}
