//! A payment service to stand behind the counter: its description, and an API that answers for it.

use serde_json::{Value, json};
use toolcrib_testkit::api::{Api, Received, Reply};

use crate::home::Home;

/// The secret that requests to the API carry.
pub(crate) const SECRET: &str = "sk_test_0123456789abcdef";

const DESCRIPTION: &str = "openapi: 3.0.0
info:
  title: Paystack
  description: Payment processing for African markets
externalDocs: {url: 'https://paystack.com/docs/api'}
servers: [{url: https://api.example.com}]
components:
  securitySchemes: {token: {type: http, scheme: bearer}}
  schemas:
    Charge:
      type: object
      properties:
        amount: {type: integer, description: Amount in kobo, minimum: 1, example: 500000}
        email: {type: string, format: email, description: Email address of the customer, example: customer@example.com}
        authorization_code: {type: string, description: Code of the card to charge, example: AUTH_xxxxx}
        reference: {type: string}
        currency: {type: string, enum: [NGN, GHS, ZAR, KES]}
        metadata: {type: object}
      required: [amount, email, authorization_code]
security: [{token: []}]
tags: [{name: Transaction}, {name: Customer}, {name: Refund}]
paths:
  /transaction/charge_authorization:
    post:
      operationId: chargeAuthorization
      tags: [Transaction]
      summary: Charge a card
      description: Charge a card in Nigeria, Ghana, South Africa or Kenya that was authorized before.
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Charge'}}}}
      responses:
        '200': {description: Charge attempted, content: {application/json: {schema: {type: object, properties: {status: {type: boolean}}}}}}
        '401': {description: Invalid key}
        '400': {description: Invalid authorization}
  /transaction/verify/{reference}:
    get:
      operationId: verifyTransaction
      tags: [Transaction]
      summary: Verify a transaction
      parameters: [{name: reference, in: path, required: true, schema: {type: string}}]
      responses: {'200': {description: ok}, '401': {description: Invalid key}}
  /transaction:
    get:
      operationId: listTransactions
      tags: [Transaction]
      summary: List transactions
      parameters: [{name: perPage, in: query, schema: {type: integer}}, {name: page, in: query, schema: {type: integer}}]
      responses: {'200': {description: ok}}
  /customer:
    get: {operationId: listCustomers, tags: [Customer], summary: List customers, responses: {'200': {description: ok}}}
    post:
      operationId: createCustomer
      tags: [Customer]
      summary: Create a customer
      requestBody: {content: {application/json: {schema: {type: object, properties: {email: {type: string}}, required: [email]}}}}
      responses: {'200': {description: ok}}
  /customer/{code}:
    delete:
      operationId: deleteCustomer
      tags: [Customer]
      summary: Delete a customer
      parameters: [{name: code, in: path, required: true, schema: {type: string}}]
      responses: {'200': {description: ok}}
  /refund:
    post:
      operationId: createRefund
      tags: [Refund]
      summary: Refund a transaction
      requestBody: {content: {application/json: {schema: {type: object, properties: {transaction: {type: string}}, required: [transaction]}}}}
      responses: {'200': {description: ok}}
";

/// A home with a payment service behind the counter.
pub(crate) struct Payments {
    pub(crate) home: Home,
    api: Api,
    /// Keeps the API alive.
    runtime: tokio::runtime::Runtime,
}

impl Payments {
    /// A service that gives these answers in turn; `more` is added to the configuration.
    pub(crate) fn open(answers: &[Value], more: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let answers = answers.iter().map(|answer| Reply::json(200, answer));
        let api = runtime.block_on(Api::start(answers)).unwrap();
        let home = Home::new();
        let spec = home.write("paystack.yaml", DESCRIPTION);
        let spec = json!(spec.display().to_string());
        home.configure(&format!(
            "adapters:\n  paystack:\n    spec: {spec}\n    baseUrl: '{}'\n    allowPrivateAddresses: true\n    auth: {{env: PAYSTACK_SECRET_KEY}}\n    countries: [NG, GH, ZA, KE]\n    capabilities: [card_payments, refunds]\n{more}",
            api.url()
        ));
        Self { home, api, runtime }
    }

    /// The program, with the secret in its environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = self.home.command(arguments);
        command.env("PAYSTACK_SECRET_KEY", SECRET);
        command
    }

    /// What the API was sent so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        let _inside = self.runtime.enter();
        self.api.received()
    }
}
