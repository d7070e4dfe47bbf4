import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import * as z from "zod/mini";
import { saveMcpServer } from "../../api/shaping/mcp.ts";
import { mcpAddress } from "../../app/addresses.ts";
import { JsonInput } from "../../form/fields.tsx";
import { manage } from "../../text/manage/words.ts";
import { CreateDialog, TextField } from "../forms/create-dialog.tsx";
import { McpEntry } from "./mcp-view.tsx";

const beginning = { command: "npx", args: ["-y", ""], enabled: true };

/** A server that is not there yet: its name, and how it is started or reached. */
export function NewMcpServer({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [name, setName] = useState("");
  const [draft, setDraft] = useState<{ value: unknown; wrong?: string | undefined }>({ value: beginning });
  const written = z.safeParse(McpEntry, draft.value);
  const isWhole = name.trim() !== "" && draft.wrong === undefined && written.success;
  const make = async () => {
    if (!written.success) return;
    await saveMcpServer(name.trim(), written.data);
    navigate(mcpAddress(name.trim()));
  };
  return (
    <CreateDialog title={t("mcp.add")} isWhole={isWhole} make={make} onClose={onClose}>
      <TextField label={t("mcp.name")} value={name} onValue={setName} />
      <JsonInput
        label={t("mcp.entry")}
        hint={t("mcp.entryHint")}
        rows={6}
        value={beginning}
        onValue={(value, wrong) => setDraft({ value, wrong })}
      />
    </CreateDialog>
  );
}
