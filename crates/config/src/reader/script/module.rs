//! The statements of a script: which names it defines, and what it exports.

use std::collections::HashMap;
use std::sync::Arc;

use oxc_ast::ast::{
    AssignmentOperator, AssignmentTarget, BindingPattern, Class, Declaration,
    ExportDefaultDeclarationKind, Expression, Function, ImportDeclaration, ModuleExportName,
    Program, Statement, VariableDeclaration, VariableDeclarationKind,
};
use oxc_span::GetSpan;

use super::super::findings::{Findings, brief};
use super::{place, refusal};
use crate::diagnostic::Diagnostic;
use crate::text::{Source, Span};

/// What a name stands for.
pub(super) enum Binding<'a> {
    /// `const name = …`.
    Constant(&'a Expression<'a>),
    /// `import … from "module"`.
    Import(&'a str),
    /// Anything that would need running: "a function", "a variable that may change".
    Opaque(&'static str),
}

/// A name with the place of its definition.
pub(super) struct Named<'a> {
    pub(super) binding: Binding<'a>,
    pub(super) span: Span,
}

/// Names by their spelling.
pub(super) type Names<'a> = HashMap<&'a str, Named<'a>>;

/// A script's names and the value that it exports.
pub(super) struct Module<'a> {
    pub(super) names: Names<'a>,
    pub(super) root: &'a Expression<'a>,
}

impl<'a> Module<'a> {
    /// Looks at every statement once.
    pub(super) fn of(
        source: &Arc<Source>,
        program: &'a Program<'a>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut reader = Reader {
            source,
            names: HashMap::new(),
            exports: Vec::new(),
            default_name: None,
            found: Findings::new(source),
        };
        for statement in &program.body {
            reader.statement(statement);
        }
        reader.finish()
    }
}

struct Reader<'s, 'a> {
    source: &'s Arc<Source>,
    names: Names<'a>,
    /// What is exported as the configuration, with its place.
    exports: Vec<(&'a Expression<'a>, Span)>,
    /// `export { name as default }`.
    default_name: Option<(&'a str, Span)>,
    found: Findings<'s>,
}

impl<'a> Reader<'_, 'a> {
    fn statement(&mut self, statement: &'a Statement<'a>) {
        let span = place(self.source, statement.span());
        match statement {
            Statement::ImportDeclaration(import) => self.import(import),
            Statement::ExportDefaultDeclaration(export) => {
                self.export_default(&export.declaration, span);
            }
            Statement::ExportDeclaration(export) => self.declaration(&export.declaration),
            Statement::ExportNamedDeclaration(export) => {
                for specifier in &export.specifiers {
                    if let ModuleExportName::IdentifierReference(local) = &specifier.local
                        && specifier.exported.name() == "default"
                    {
                        let span = place(self.source, specifier.span);
                        self.default_name = Some((local.name.as_str(), span));
                    }
                }
            }
            Statement::ExportFromDeclaration(export) => {
                let as_default = |name: &ModuleExportName<'_>| name.name() == "default";
                if export.specifiers.iter().any(|s| as_default(&s.exported)) {
                    self.refuse(span, "another file's export", refusal::IMPORT_HELP);
                }
            }
            Statement::TSExportAssignment(export) => self.exports.push((&export.expression, span)),
            Statement::ExpressionStatement(statement) => self.expression(&statement.expression),
            Statement::EmptyStatement(_)
            | Statement::ExportAllDeclaration(_)
            | Statement::TSNamespaceExportDeclaration(_) => {}
            _ => match statement.as_declaration() {
                Some(declaration) => self.declaration(declaration),
                None => self.refuse(span, refusal::statement(statement), refusal::RUN_HELP),
            },
        }
    }

    fn import(&mut self, import: &'a ImportDeclaration<'a>) {
        for specifier in import.specifiers.iter().flatten() {
            let local = specifier.local();
            self.name(
                local.name.as_str(),
                local.span,
                Binding::Import(import.source.value.as_str()),
            );
        }
    }

    fn export_default(&mut self, kind: &'a ExportDefaultDeclarationKind<'a>, span: Span) {
        match kind {
            ExportDefaultDeclarationKind::FunctionDeclaration(_) => {
                self.refuse(span, "a function", refusal::EXPORT_HELP);
            }
            ExportDefaultDeclarationKind::ClassDeclaration(_) => {
                self.refuse(span, "a class", refusal::EXPORT_HELP);
            }
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => {}
            other => {
                if let Some(expression) = other.as_expression() {
                    self.exports.push((expression, span));
                }
            }
        }
    }

    fn declaration(&mut self, declaration: &'a Declaration<'a>) {
        match declaration {
            Declaration::VariableDeclaration(variables) => self.variables(variables),
            Declaration::FunctionDeclaration(function) => self.function(function),
            Declaration::ClassDeclaration(class) => self.class(class),
            Declaration::TSEnumDeclaration(names) => self.name(
                names.id.name.as_str(),
                names.id.span,
                Binding::Opaque("an enum"),
            ),
            Declaration::TSImportEqualsDeclaration(import) => self.name(
                import.id.name.as_str(),
                import.id.span,
                Binding::Opaque("an import"),
            ),
            Declaration::TSNamespaceDeclaration(_) => {
                let span = place(self.source, declaration.span());
                self.refuse(span, "a namespace", refusal::RUN_HELP);
            }
            // Types are for the editor; they are no part of the value.
            Declaration::TSTypeAliasDeclaration(_)
            | Declaration::TSInterfaceDeclaration(_)
            | Declaration::TSExternalModuleDeclaration(_)
            | Declaration::TSGlobalDeclaration(_) => {}
        }
    }

    fn function(&mut self, function: &'a Function<'a>) {
        if let Some(id) = &function.id {
            self.name(id.name.as_str(), id.span, Binding::Opaque("a function"));
        }
    }

    fn class(&mut self, class: &'a Class<'a>) {
        if let Some(id) = &class.id {
            self.name(id.name.as_str(), id.span, Binding::Opaque("a class"));
        }
    }

    fn variables(&mut self, variables: &'a VariableDeclaration<'a>) {
        for variable in &variables.declarations {
            let constant = variables.kind == VariableDeclarationKind::Const;
            let id = match &variable.id {
                BindingPattern::BindingIdentifier(id) => id,
                pattern => {
                    for id in pattern.get_binding_identifiers() {
                        self.name(
                            id.name.as_str(),
                            id.span,
                            Binding::Opaque("a part of something taken apart"),
                        );
                    }
                    continue;
                }
            };
            let binding = match &variable.init {
                Some(init) if constant => Binding::Constant(init),
                _ => Binding::Opaque("a variable that may change"),
            };
            self.name(id.name.as_str(), id.span, binding);
        }
    }

    /// A statement that is an expression: the only one that is read sets what the file exports.
    fn expression(&mut self, expression: &'a Expression<'a>) {
        let span = place(self.source, expression.span());
        if let Expression::AssignmentExpression(assignment) = expression
            && assignment.operator == AssignmentOperator::Assign
            && is_exports(&assignment.left)
        {
            self.exports.push((&assignment.right, span));
        } else {
            let construct = refusal::expression(expression).0;
            self.refuse(span, construct, refusal::RUN_HELP);
        }
    }

    fn name(&mut self, name: &'a str, span: oxc_span::Span, binding: Binding<'a>) {
        let span = place(self.source, span);
        if let Some(first) = self.names.get(name) {
            self.found.push(
                Diagnostic::error(format!("{} is defined twice", brief(name)))
                    .at(self.source, span)
                    .also(first.span, "first here:")
                    .help("give the two different names"),
            );
            return;
        }
        self.names.insert(name, Named { binding, span });
    }

    fn refuse(&mut self, span: Span, construct: &str, help: &str) {
        self.found
            .push(refusal::needs_running(self.source, span, construct, help));
    }

    fn finish(mut self) -> Result<Module<'a>, Vec<Diagnostic>> {
        if let Some((name, span)) = self.default_name {
            match self.names.get(name).map(|named| &named.binding) {
                Some(Binding::Constant(init)) => self.exports.push((*init, span)),
                _ => self.refuse(
                    span,
                    "an exported name that is no constant",
                    refusal::EXPORT_HELP,
                ),
            }
        }
        if let [(_, first), (_, again), ..] = self.exports[..] {
            self.found.push(
                Diagnostic::error("the file exports two configurations")
                    .at(self.source, again)
                    .also(first, "first here:")
                    .help("keep one of the two"),
            );
        }
        if self.found.is_empty() && self.exports.is_empty() {
            self.found.push(
                Diagnostic::error("the file exports no configuration")
                    .about(self.source)
                    .help("write export default { … }"),
            );
        }
        match self.exports.first() {
            Some((root, _)) => self.found.or(Module {
                names: self.names,
                root,
            }),
            None => Err(self.found.or(()).err().unwrap_or_default()),
        }
    }
}

/// `module.exports` or `exports.default`.
fn is_exports(target: &AssignmentTarget<'_>) -> bool {
    let AssignmentTarget::StaticMemberExpression(member) = target else {
        return false;
    };
    let Expression::Identifier(object) = &member.object else {
        return false;
    };
    matches!(
        (object.name.as_str(), member.property.name.as_str()),
        ("module", "exports") | ("exports", "default")
    )
}
