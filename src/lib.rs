//! Audits what a backend does when Redis is paused, stopped or silent.
//!
//! Data flows one way: a policy file is read and checked ([`policy`]), planned, run against a real server ([`redis`], [`proxy`] before it),
//! observed ([`observe`]), judged, and reported ([`report`]). [`words`], [`kinds`] and [`text`] are what
//! all of them share.

pub mod clients;
pub mod endpoint;
pub mod judge;
pub mod kinds;
pub mod observe;
pub mod plan;
pub mod policy;
pub mod proxy;
pub mod redis;
pub mod report;
pub mod run;
pub mod text;
pub mod words;

#[cfg(test)]
mod cases;
