import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { readFileOf } from "../../../api/operations.ts";
import { visible } from "../../../markdown/links.ts";
import { Dialog } from "../../../parts/dialog.tsx";
import { useSnapshot } from "../thread-context.tsx";
import { FileView } from "./file-dialog.tsx";
import { OperationCard } from "./operation-card.tsx";

/** A file of the workspace as it is now, and what this chat has changed in it. */
export function WorkspaceFile({ path, onClose }: { path: string; onClose: () => void }) {
  const { t } = useTranslation();
  const operations = useSnapshot((snapshot) => snapshot.operations);
  const own = operations.filter((operation) => operation.path === path);
  const read = useQuery({
    queryKey: ["file-now", path],
    queryFn: ({ signal }) => readFileOf(path, signal),
    retry: false,
    gcTime: 0,
  });
  return (
    <Dialog title={visible(path)} onClose={onClose} size="wide">
      <div className="dialog-body">
        {own.map((operation) => (
          <OperationCard key={operation.operation_id} operation={operation} />
        ))}
        <FileView
          path={path}
          isThere
          read={read}
          gone={{ title: t("operation.notThere"), hint: t("operation.notThereHint") }}
        />
      </div>
    </Dialog>
  );
}
