import ArrowDown from "icon:arrow-down";
import ArrowUp from "icon:arrow-up";
import Copy from "icon:copy";
import Plus from "icon:plus";
import X from "icon:x";
import {
  TranslatableString,
  type ArrayFieldItemTemplateProps,
  type CyclicSchemaExpandProps,
  type FieldTemplateProps,
  type IconButtonProps,
  type MultiSchemaFieldTemplateProps,
  type TemplatesType,
} from "@rjsf/utils";
import type { ReactNode } from "react";
import i18next from "i18next";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "../parts/button.tsx";
import { work } from "../text/inspector/work.ts";

type ButtonName = "add" | "remove" | "up" | "down" | "copy" | "clear";

/** A button of the form in our own shape. */
function formButton(name: ButtonName, icon: ReactNode, isWide = false) {
  return function FormButton({ onClick, disabled, id }: IconButtonProps) {
    const { t } = useTranslation(work);
    const label = t(`form.${name}`);
    if (isWide) {
      return (
        <Button id={id} size="small" kind="quiet" onClick={onClick} disabled={disabled === true}>
          {icon}
          {label}
        </Button>
      );
    }
    return (
      <IconButton id={id} label={label} onClick={onClick} disabled={disabled === true}>
        {icon}
      </IconButton>
    );
  };
}

function FieldTemplate(props: FieldTemplateProps) {
  const { id, label, children, errors, description, hidden, required, schema } = props;
  // Our own fields say their names themselves.
  const displayLabel = props.displayLabel === true && schema.$id === undefined;
  if (hidden === true) return <div hidden>{children}</div>;
  return (
    <div className="form-field">
      {displayLabel && (
        <label className="form-label" htmlFor={id}>
          {label}
          {required === true && " *"}
        </label>
      )}
      {displayLabel && description}
      {children}
      {errors}
    </div>
  );
}

function ArrayFieldItemTemplate({ children, buttonsProps, hasToolbar, registry }: ArrayFieldItemTemplateProps) {
  const { ArrayFieldItemButtonsTemplate } = registry.templates;
  return (
    <div className="form-item">
      <div className="form-item-value">{children}</div>
      {hasToolbar && (
        <div className="form-item-buttons">
          <ArrayFieldItemButtonsTemplate {...buttonsProps} />
        </div>
      )}
    </div>
  );
}

/** A value of one of several kinds: which one, and the value itself. */
function MultiSchemaFieldTemplate({ schema, selector, optionSchemaField }: MultiSchemaFieldTemplateProps) {
  const { t } = useTranslation(work);
  return (
    <div className="form-union">
      <label>
        <span className="visually-hidden">{t("form.union", { name: schema.title ?? "" })}</span>
        {selector}
      </label>
      {optionSchemaField}
    </div>
  );
}

function CyclicSchemaExpandTemplate({ name, fieldPathId, onExpand }: CyclicSchemaExpandProps) {
  const { t } = useTranslation(work);
  return (
    <Button size="small" kind="quiet" onClick={() => onExpand(fieldPathId.$id)}>
      <Plus size={14} />
      {t("form.deeper", { name })}
    </Button>
  );
}

/** How the parts of the form look. */
export const templates: Partial<Omit<TemplatesType, "ButtonTemplates">> & {
  ButtonTemplates: Partial<TemplatesType["ButtonTemplates"]>;
} = {
  FieldTemplate,
  ArrayFieldItemTemplate,
  CyclicSchemaExpandTemplate,
  MultiSchemaFieldTemplate,
  ButtonTemplates: {
    AddButton: formButton("add", <Plus size={14} />, true),
    RemoveButton: formButton("remove", <X size={16} />),
    MoveUpButton: formButton("up", <ArrowUp size={16} />),
    MoveDownButton: formButton("down", <ArrowDown size={16} />),
    CopyButton: formButton("copy", <Copy size={16} />),
    ClearButton: formButton("clear", <X size={16} />),
  },
};

/** The words that the form's package says by itself, in the language of the page. */
export function formWords(text: TranslatableString, parameters: string[] = []): string {
  const [first = "", second = ""] = parameters;
  switch (text) {
    case TranslatableString.ArrayItemTitle:
      return i18next.t("work:form.item");
    case TranslatableString.YesLabel:
      return i18next.t("work:form.yes");
    case TranslatableString.NoLabel:
      return i18next.t("work:form.no");
    case TranslatableString.EmptyArray:
      return i18next.t("work:form.emptyArray");
    case TranslatableString.OptionPrefix:
      return i18next.t("work:form.option", { at: first });
    case TranslatableString.TitleOptionPrefix:
      return i18next.t("work:form.titledOption", { title: first, at: second });
    case TranslatableString.KeyLabel:
      return i18next.t("work:form.key", { name: first });
    case TranslatableString.NewStringDefault:
      return i18next.t("work:form.newValue");
    case TranslatableString.OptionalObjectAdd:
      return i18next.t("work:form.add");
    case TranslatableString.OptionalObjectRemove:
      return i18next.t("work:form.remove");
    default:
      return text.replace("%1", first).replace("%2", second);
  }
}
